// Training on the test device: the bits of the CPU, no report, and few waits of
// the host.
#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "chimera/exec/flight_recorder.h"
#include "tests/device/test_device.h"
#include "tests/training_cases.h"

namespace chimera {
namespace {

using testing::config_of;
using testing::Extras;
using ::testing::IsEmpty;
using testing::kTestDevices;
using testing::OrderChecker;
using testing::Outcome;
using testing::setup_of;
using testing::test_device;
using testing::use_test_device;

// Keeps what a run leaves, and each rank's last actions for reports.
class Keeper final : public TrainObserver {
 public:
  explicit Keeper(OrderChecker& checker) : checker_(checker) {
    checker.set_action_source([this](int device) {
      const std::string text = flights_[device].text();
      const std::size_t last = text.rfind("ago: ");
      return last == std::string::npos
                 ? std::string()
                 : text.substr(last + 5, text.find('\n', last) - last - 5);
    });
  }
  ~Keeper() override { checker_.set_action_source({}); }

  void on_step(const StepReport& report) override {
    outcome.numbers.push_back(report.loss);
    outcome.numbers.push_back(report.grad_norm);
  }
  FlightRecorder* flight(int rank) override { return &flights_[rank]; }

  Outcome outcome;

 private:
  OrderChecker& checker_;
  std::array<FlightRecorder, kTestDevices> flights_;
};

class DeviceTraining : public ::testing::Test {
 protected:
  // Attention by the same kernels on both devices: libtorch's fused one is for
  // the CPU only.
  DeviceTraining() {
    at::globalContext().setSDPUseFlash(false);
    (void)checker.take_reports();
    checker.reset_host_waits();
  }

  Outcome train_on_device(const RunConfig& config) {
    const auto setup = setup_of(config);
    for (std::size_t rank = 0; rank < setup->devices.size(); ++rank) {
      setup->devices[rank] = test_device(static_cast<int>(rank));
    }
    Keeper keeper(checker);
    keeper.outcome.weights = train(*setup, keeper).weights;
    return std::move(keeper.outcome);
  }

  void expect_bits_of_the_cpu(const RunConfig& config) {
    const Outcome expected = testing::outcome_of(*setup_of(config));
    testing::expect_same_bits(expected, train_on_device(config));
    EXPECT_THAT(checker.take_reports(), IsEmpty());
  }

  OrderChecker& checker = use_test_device();
};

TEST_F(DeviceTraining, OneWorkerHasTheBitsOfTheCpu) {
  expect_bits_of_the_cpu(config_of({.scheme = "1f1b", .depth = 1, .micros = 2},
                                   {.dropout = true}));
}

TEST_F(DeviceTraining, SchemesHaveTheBitsOfTheCpu) {
  struct Case {
    const char* scheme;
    Extras extras;
  };
  for (const auto& [scheme, extras] :
       {Case{"chimera", {}}, Case{"chimera", {.tied = true, .dropout = true}},
        Case{"1f1b", {.width = 2, .recompute = true}},
        Case{"zb-v", {.dropout = true, .sync = "eager"}},
        Case{"gpipe", {.width = 2, .tied = true, .sync = "eager-opt"}}}) {
    SCOPED_TRACE(scheme + testing::text_of(extras));
    expect_bits_of_the_cpu(
        config_of({.scheme = scheme, .depth = 4, .micros = 4}, extras));
  }
}

TEST_F(DeviceTraining, ShardedAndLateUpdatesHaveTheBitsOfTheCpu) {
  RunConfig config =
      config_of({.scheme = "chimera", .depth = 4, .micros = 4}, {.tied = true});
  config.train.clip = 0.5;
  config.train.steps = 4;
  expect_bits_of_the_cpu(config);
  config.train.shard_update = true;
  expect_bits_of_the_cpu(config);
  config.train.vote = VoteMode::kLate;
  expect_bits_of_the_cpu(config);
}

// The vote needs numbers of the device; nothing else of a step waits for it.
TEST_F(DeviceTraining, TheHostWaitsOncePerStep) {
  for (const int depth : {2, 4}) {
    for (const int micros : {depth, 2 * depth}) {
      RunConfig config = config_of(
          {.scheme = "chimera", .depth = depth, .micros = micros}, {});
      std::array<std::int64_t, 2> waits = {};
      for (const int steps : {2, 6}) {
        config.train.steps = steps;
        checker.reset_host_waits();
        (void)train_on_device(config);
        for (int rank = 0; rank < depth; ++rank) {
          waits[steps == 6 ? 1 : 0] += checker.host_waits(rank);
        }
      }
      // Setting up and reading the weights take some, too.
      EXPECT_EQ(waits[1] - waits[0], 4 * depth)
          << "D=" << depth << " N=" << micros;
    }
  }
  EXPECT_THAT(checker.take_reports(), IsEmpty());
}

}  // namespace
}  // namespace chimera
