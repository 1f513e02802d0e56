// Mistakes of the user are values. A function that can be asked for something
// impossible returns a Result, which holds either what was asked for or every
// reason why not. Nothing here throws or prints; the cli module turns
// Diagnostics into text and an exit code.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "chimera/base/check.h"

namespace chimera {

// What a mistake is about. It decides the exit code of a program that ends
// because of the mistake.
enum class DiagnosticKind : std::uint8_t {
  kUsage,       // flags, configurations, schedules
  kData,        // bad data files or Hugging Face directories
  kCheckpoint,  // damaged checkpoints, or those of another model
};

// One mistake of the user's, with everything needed to fix it.
struct Diagnostic {
  DiagnosticKind kind = DiagnosticKind::kUsage;
  std::string code = {};    // "E201"; docs/errors.md lists them all
  std::string where = {};   // "run.toml:14", "worker 2, action 5"; may be empty
  std::string found = {};   // "micros = 6"
  std::string needed = {};  // "must be a multiple of depth = 4"
  std::string hint = {};    // "use 4 or 8"; may be empty

  bool operator==(const Diagnostic&) const = default;
};

using Diagnostics = std::vector<Diagnostic>;

// `error[E201] run.toml:14: micros = 6 must be a multiple of depth = 4; hint:
// use 4 or 8`, without a line end.
[[nodiscard]] std::string to_string(const Diagnostic& diagnostic);

// Either a T or at least one Diagnostic. (C++23 has std::expected.)
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::move(value)) {}             // NOLINT
  Result(Diagnostic error) : content_(Diagnostics{error}) {}  // NOLINT
  Result(Diagnostics errors) : content_(std::move(errors)) {  // NOLINT
    CHIMERA_CHECK(!this->errors().empty(), "a failed Result needs a reason");
  }

  [[nodiscard]] bool ok() const { return content_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // REQUIRES: ok().
  [[nodiscard]] const T& value() const& {
    CHIMERA_CHECK(ok(), "Result has no value");
    return std::get<0>(content_);
  }
  [[nodiscard]] T&& value() && {
    CHIMERA_CHECK(ok(), "Result has no value");
    return std::get<0>(std::move(content_));
  }
  const T* operator->() const { return &value(); }
  const T& operator*() const& { return value(); }

  // REQUIRES: !ok().
  [[nodiscard]] const Diagnostics& errors() const {
    CHIMERA_CHECK(!ok(), "Result has no errors");
    return std::get<1>(content_);
  }

 private:
  std::variant<T, Diagnostics> content_;
};

}  // namespace chimera
