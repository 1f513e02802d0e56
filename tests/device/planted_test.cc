// Plants bugs that a device path can have, one by one: each must be reported,
// and correct code must not.
#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "chimera/model/device_stream.h"
#include "chimera/model/device_sum.h"
#include "tests/device/test_device.h"

namespace chimera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::OrderChecker;
using testing::test_device;
using testing::use_test_device;

class Planted : public ::testing::Test {
 protected:
  Planted() { (void)checker.take_reports(); }

  [[nodiscard]] std::string report() {
    const std::vector<std::string> reports = checker.take_reports();
    return reports.empty() ? "" : reports.front();
  }

  OrderChecker& checker = use_test_device();
  at::Device device = test_device();
  // Uses a stream of its own, as training does, because copies between devices
  // are queued on the default stream.
  c10::StreamGuard stream_of_its_own{another_stream(device)};
  c10::Stream compute = current_stream(device);
  c10::Stream other = another_stream(device);
  at::Tensor x = at::zeros({64}, device);
};

TEST_F(Planted, OneStreamNeedsNoEvent) {
  x.add_(1);
  const at::Tensor y = x * 2;
  EXPECT_TRUE(at::equal(y.cpu(), at::full({64}, 2.0F)));
  EXPECT_THAT(checker.take_reports(), IsEmpty());
}

TEST_F(Planted, AnEventOrdersTwoStreams) {
  x.add_(1);
  end_of(compute)->block(other);
  {
    const c10::StreamGuard guard(other);
    x.mul_(2);
  }
  end_of(other)->block(compute);
  EXPECT_EQ(x.sum().item<float>(), 128);
  EXPECT_THAT(checker.take_reports(), IsEmpty());
}

// 1. A message is sent before its tensor is computed.
TEST_F(Planted, MissingWaitBeforeASend) {
  end_of(compute)->block(other);
  {
    const c10::StreamGuard guard(other);
    x.add_(1);
  }
  const at::Tensor y = at::empty({64}, test_device(1));
  y.copy_(x, /*non_blocking=*/true);
  EXPECT_THAT(report(), HasSubstr("copy_"));
}

// 2. The receiver computes with a message that it has not waited for.
TEST_F(Planted, MissingWaitForAMessage) {
  end_of(compute)->block(other);
  {
    const c10::StreamGuard guard(other);
    x.add_(1);
  }
  (void)x.sum();
  EXPECT_THAT(report(), HasSubstr("does not wait for it"));
}

// 3. An update does not wait for the sum of its gradient.
TEST_F(Planted, MissingWaitBeforeAnUpdate) {
  at::Tensor gradient = at::ones({64}, device);
  at::Tensor far = at::ones({64}, test_device(1));
  const c10::Stream sums = another_stream(test_device(1));
  std::vector<NumberBuffer> members(2);
  members[0].device = std::make_shared<DeviceSum>(gradient, other);
  members[1].device = std::make_shared<DeviceSum>(far, sums);
  // Runs the sum on a thread of its own, as in training.
  std::thread([&] {
    members[0].device->run(CollectiveId::Kind::kAllReduce, members);
  }).join();
  ASSERT_THAT(checker.take_reports(), IsEmpty());
  x.sub_(gradient);  // without members[0].device->finish()
  EXPECT_THAT(report(), HasSubstr("aten::sub"));
  members[0].device->finish();
  x.sub_(gradient);
  EXPECT_THAT(checker.take_reports(), IsEmpty());
  EXPECT_EQ(gradient.sum().item<float>(), 128);
  members[1].device->finish();
}

// 4. A buffer is written again while its last reader may still read.
TEST_F(Planted, ABufferIsReusedTooEarly) {
  x.add_(1);
  end_of(compute)->block(other);
  at::Tensor y;
  {
    const c10::StreamGuard guard(other);
    y = x * 2;
  }
  x.zero_();
  EXPECT_THAT(report(), HasSubstr("zero_"));
  end_of(other)->block(compute);  // y belongs to the other stream
}

// 5. Memory is freed by its own stream while another one reads it.
TEST_F(Planted, MemoryIsFreedBeforeItsLastUse) {
  end_of(compute)->block(other);
  {
    const c10::StreamGuard guard(other);
    (void)x.sum();
  }
  x.reset();
  EXPECT_THAT(report(), HasSubstr("freed before its last use: "));
}

// 6. An event is recorded before the work that it is meant for.
TEST_F(Planted, AnEventIsRecordedTooEarly) {
  const auto early = end_of(compute);
  x.add_(1);
  early->block(other);
  {
    const c10::StreamGuard guard(other);
    (void)x.sum();
  }
  EXPECT_THAT(report(), HasSubstr("does not wait for it"));
  end_of(other)->block(compute);
}

// 7. A stream waits for an event that nobody has recorded: no wait at all.
TEST_F(Planted, AnEventIsNeverRecorded) {
  x.add_(1);
  c10::Event(at::kPrivateUse1).block(other);
  {
    const c10::StreamGuard guard(other);
    (void)x.sum();
  }
  EXPECT_THAT(report(), HasSubstr("does not wait for it"));
  end_of(other)->block(compute);
}

// 8. Two streams write at once.
TEST_F(Planted, TwoStreamsWriteOneTensor) {
  end_of(compute)->block(other);
  x.add_(1);
  {
    const c10::StreamGuard guard(other);
    x.mul_(2);
  }
  EXPECT_THAT(report(), HasSubstr("aten::mul"));
  end_of(other)->block(compute);
}

// 9. The host reads a tensor's memory.
TEST_F(Planted, TheHostReadsDeviceMemory) {
  x.add_(3);
  EXPECT_EQ(*static_cast<const volatile float*>(x.const_data_ptr()), 3);
  EXPECT_THAT(report(), HasSubstr("the host touches memory of the device"));
}

// 10. The host reads a copy that may not have arrived.
TEST_F(Planted, TheHostReadsACopyWithoutAWait) {
  const at::Tensor host =
      at::empty({64}, at::TensorOptions().pinned_memory(true));
  host.copy_(x, /*non_blocking=*/true);
  EXPECT_EQ(*static_cast<const volatile float*>(host.const_data_ptr()), 0);
  EXPECT_THAT(report(), HasSubstr("pinned memory that a copy still uses"));
}

TEST_F(Planted, AfterAWaitTheHostMayReadACopy) {
  const at::Tensor host =
      at::empty({64}, at::TensorOptions().pinned_memory(true));
  host.copy_(x, /*non_blocking=*/true);
  end_of(compute)->synchronize();
  EXPECT_EQ(*static_cast<const volatile float*>(host.const_data_ptr()), 0);
  EXPECT_THAT(checker.take_reports(), IsEmpty());
}

// 11. The host fills a buffer again that is still being copied from.
TEST_F(Planted, TheHostWritesTheSourceOfACopy) {
  at::Tensor host = at::zeros({64}, at::TensorOptions().pinned_memory(true));
  x.copy_(host, /*non_blocking=*/true);
  *static_cast<volatile float*>(host.mutable_data_ptr()) = 1;
  EXPECT_THAT(report(), HasSubstr("pinned memory that a copy still uses"));
}

// 12. The reader of a message frees it, instead of giving it back.
TEST_F(Planted, AReaderFreesAMessage) {
  for (const bool gives_back : {true, false}) {
    at::Tensor message;
    {
      const c10::StreamGuard guard(other);
      message = at::ones({64}, device);
    }
    const auto lent = std::make_shared<LentTensors>(other);
    const c10::Stream reader = current_stream(test_device(1));
    end_of(other)->block(reader);
    const at::Tensor copy = at::empty({64}, test_device(1));
    copy.copy_(message, /*non_blocking=*/true);
    if (gives_back) lent->give_back(message, end_of(reader));
    message.reset();
    lent->free_returned();
    const std::string found = report();
    EXPECT_EQ(found.empty(), gives_back) << found;
  }
}

TEST_F(Planted, HostWaitsAreCounted) {
  checker.reset_host_waits();
  (void)x.sum();
  EXPECT_EQ(checker.host_waits(0), 0);
  (void)x.sum().item<float>();
  (void)x.cpu();
  (void)x.nonzero();
  EXPECT_EQ(checker.host_waits(0), 3);
}

}  // namespace
}  // namespace chimera
