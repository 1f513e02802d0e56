// Turns flag values as typed into numbers and names. Mistakes are collected, so
// that all of them are reported at once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chimera/base/names.h"
#include "chimera/base/result.h"

namespace chimera {

class Values {
 public:
  // An empty text (flag not given) gives nullopt and is no mistake.
  std::optional<int> integer(const std::string& flag, const std::string& text);
  // Reads an integer that must be given.
  int required_integer(const std::string& flag, const std::string& text);
  // Reads a number from 0 to 1e12; beyond that, sums of times would lose
  // precision.
  std::optional<double> time(const std::string& flag, const std::string& text);
  // Reads "16GB", "15.5GiB", "800MB", "512MiB" or plain bytes; above 0.
  std::optional<double> bytes(const std::string& flag, const std::string& text);
  // Returns an index into `names`, or `absent` if the text is empty or wrong.
  int choice(const std::string& flag, const std::string& text,
             const std::vector<std::string>& names, int absent = 0);
  // Reads --format like choice(). If the flag is not given, the extension of
  // the output file (a.svg) decides, if it is one of `names`.
  int format(const std::string& text, const std::string& output,
             const std::vector<std::string>& names);
  // Returns nullopt if the text is empty or wrong.
  template <NamedEnum E>
  std::optional<E> named(const std::string& flag, const std::string& text) {
    const Names names = names_of(E{});
    const int index = choice(flag, text, {names.begin(), names.end()}, -1);
    if (index < 0) return std::nullopt;
    return static_cast<E>(index);
  }

  // Returns the value of `result`, or records its mistakes and returns
  // `stand_in`.
  template <class T>
  T take(const Result<T>& result, const T& stand_in) {
    if (result) return *result;
    refuse(result.errors());
    return stand_in;
  }

  void refuse(const Diagnostic& error) { errors_.push_back(error); }
  void refuse(const Diagnostics& errors) {
    errors_.insert(errors_.end(), errors.begin(), errors.end());
  }
  [[nodiscard]] const Diagnostics& errors() const { return errors_; }

 private:
  // True if a mistake about this flag, or about a misspelling of it, is
  // recorded.
  [[nodiscard]] bool is_told_about(const std::string& flag) const;

  Diagnostics errors_;
};

}  // namespace chimera
