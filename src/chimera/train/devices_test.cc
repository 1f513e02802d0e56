#include "chimera/train/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chimera {
namespace {

using ::testing::HasSubstr;

std::string refused(const DeviceRequest& request, const CudaDevices& here) {
  const auto devices = choose_devices(request, here);
  if (devices) return "";
  EXPECT_EQ(devices.errors().size(), 1U);
  EXPECT_EQ(devices.errors()[0].code, "E577");
  return to_string(devices.errors()[0]);
}

TEST(Devices, TheCpuServesAnyNumberOfWorkers) {
  const auto devices = choose_devices({.ranks = 3}, {});
  ASSERT_TRUE(devices);
  EXPECT_EQ(*devices, std::vector<at::Device>(3, at::kCPU));
}

TEST(Devices, ThreadsTakeOneGpuEach) {
  const auto devices = choose_devices({.kind = DeviceKind::kCuda, .ranks = 2},
                                      {.is_built = true, .count = 4});
  ASSERT_TRUE(devices);
  EXPECT_EQ((*devices)[0], at::Device(at::kCUDA, 0));
  EXPECT_EQ((*devices)[1], at::Device(at::kCUDA, 1));
}

TEST(Devices, AProcessTakesTheGpuOfItsPlaceOnTheHost) {
  const auto devices = choose_devices(
      {.kind = DeviceKind::kCuda, .ranks = 4, .ranks_here = 2, .local_rank = 1},
      {.is_built = true, .count = 2});
  ASSERT_TRUE(devices);
  EXPECT_EQ((*devices)[3], at::Device(at::kCUDA, 1));
}

TEST(Devices, ARefusalSaysWhatIsMissing) {
  const DeviceRequest four{.kind = DeviceKind::kCuda, .ranks = 4};
  EXPECT_THAT(refused(four, {}), HasSubstr("pip install 'torch===2.13.0'"));
  EXPECT_THAT(refused(four, {.is_built = true}), HasSubstr("nvidia-smi"));
  EXPECT_THAT(refused(four, {.is_built = true, .count = 3}),
              HasSubstr("4 workers would share 3"));
  DeviceRequest process = four;
  process.ranks_here = 2;
  EXPECT_THAT(refused(process, {.is_built = true, .count = 1}),
              HasSubstr("2 workers would share 1"));
  DeviceRequest emulated = four;
  emulated.emulated = true;
  EXPECT_THAT(refused(emulated, {.is_built = true, .count = 4}),
              HasSubstr("models with weights"));
}

// The torch of this build has no CUDA.
TEST(Devices, ACpuBuildSeesNoGpu) {
  EXPECT_EQ(count_devices().is_built, at::hasCUDA());
}

}  // namespace
}  // namespace chimera
