// Flag values as the user typed them, turned into numbers and names. Mistakes
// are collected, so that all of them are reported at once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chimera/base/names.h"
#include "chimera/base/result.h"

namespace chimera {

class Values {
 public:
  // Absent (empty text) gives nullopt without a mistake.
  std::optional<int> integer(const std::string& flag, const std::string& text);
  // An integer that has to be there.
  int required_integer(const std::string& flag, const std::string& text);
  // From 0 to 1e12, so that sums of times stay exact enough.
  std::optional<double> time(const std::string& flag, const std::string& text);
  // "16GB", "15.5GiB", "800MB", "512MiB", or plain bytes; above 0.
  std::optional<double> bytes(const std::string& flag, const std::string& text);
  // Index into `names`; `absent` where the text is empty or wrong.
  int choice(const std::string& flag, const std::string& text,
             const std::vector<std::string>& names, int absent = 0);
  // The same of --format. Where it is not given, the end of the name of the
  // output file decides (a.svg), if it is one of `names`.
  int format(const std::string& text, const std::string& output,
             const std::vector<std::string>& names);
  // Nothing where the text is empty or wrong.
  template <NamedEnum E>
  std::optional<E> named(const std::string& flag, const std::string& text) {
    const Names names = names_of(E{});
    const int index = choice(flag, text, {names.begin(), names.end()}, -1);
    if (index < 0) return std::nullopt;
    return static_cast<E>(index);
  }

  void refuse(const Diagnostic& error) { errors_.push_back(error); }
  void refuse(const Diagnostics& errors) {
    errors_.insert(errors_.end(), errors.begin(), errors.end());
  }
  [[nodiscard]] const Diagnostics& errors() const { return errors_; }

 private:
  // Whether a mistake is about this flag, or about one that was meant to be it.
  [[nodiscard]] bool is_told_about(const std::string& flag) const;

  Diagnostics errors_;
};

}  // namespace chimera
