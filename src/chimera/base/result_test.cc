#include "chimera/base/result.h"

#include <gtest/gtest.h>

namespace chimera {
namespace {

TEST(Result, HoldsAValue) {
  const Result<int> result = 3;
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(*result, 3);
  EXPECT_THROW((void)result.errors(), InternalError);
}

TEST(Result, HoldsReasons) {
  const Result<int> result = Diagnostic{DiagnosticKind::kUsage,
                                        "E201",
                                        "run.toml:14",
                                        "micros = 6",
                                        "must be a multiple of depth = 4",
                                        "use 4 or 8"};
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(to_string(result.errors()[0]),
            "error[E201] run.toml:14: micros = 6 must be a multiple of "
            "depth = 4; hint: use 4 or 8");
  EXPECT_THROW((void)result.value(), InternalError);
}

TEST(Result, RefusesToFailWithoutAReason) {
  EXPECT_THROW(Result<int>{Diagnostics{}}, InternalError);
}

TEST(Check, PrintsBothValues) {
  try {
    CHIMERA_CHECK_EQ(1 + 1, 3);
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("2 vs 3"), std::string::npos);
  }
}

}  // namespace
}  // namespace chimera
