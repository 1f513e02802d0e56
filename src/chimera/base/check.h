// Checks for our own mistakes: always on, in every build. A failed one throws
// InternalError, which the cli module turns into exit code 70. Reaching one
// from user input is a bug.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace chimera {

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* file, int line,
                             const std::string& message);

}  // namespace chimera

#define CHIMERA_CHECK(condition, message)                              \
  do {                                                                 \
    if (!(condition)) {                                                \
      ::chimera::fail_check(__FILE__, __LINE__,                        \
                            std::string(#condition ": ") + (message)); \
    }                                                                  \
  } while (false)

// Prints both values.
#define CHIMERA_CHECK_EQ(a, b)                                         \
  do {                                                                 \
    const auto& check_a = (a);                                         \
    const auto& check_b = (b);                                         \
    if (!(check_a == check_b)) {                                       \
      std::ostringstream check_text;                                   \
      check_text << #a " == " #b ": " << check_a << " vs " << check_b; \
      ::chimera::fail_check(__FILE__, __LINE__, check_text.str());     \
    }                                                                  \
  } while (false)
