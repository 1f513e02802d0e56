// Checks for bugs in this program: always on, in every build. A failed check
// throws InternalError, which the cli module turns into exit code 70. User
// input must never reach one.
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

// CHIMERA_CHECK(a == b) whose message holds both values.
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
