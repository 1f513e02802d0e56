// Training on the test device: the bits of the CPU, no report, and few waits of
// the host.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <map>

#include "chimera/exec/progress.h"
#include "tests/device/device_training.h"

namespace chimera {
namespace {

using testing::config_of;
using testing::DeviceTraining;
using testing::Extras;
using ::testing::IsEmpty;
using testing::setup_of;

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

std::map<std::string, int> events_of(const Trace& trace) {
  std::map<std::string, int> count;
  for (const Event& event : trace.events) {
    ++count[fmt::format("{} {} {}", event.worker, event.step,
                        describe(event.action))];
  }
  return count;
}

// The trace has the events of the CPU's, with times of the device's clock, and
// reading them makes the host wait no more often.
TEST_F(DeviceTraining, TheTraceHasTheTimesOfTheDevice) {
  RunConfig config = config_of({.scheme = "chimera", .depth = 4, .micros = 4},
                               {.tied = true, .sync = "eager"});
  config.run.trace = true;
  config.train.steps = 4;
  const auto setup = setup_of(config);
  const TrainOutcome on_cpu = train(*setup);
  testing::use_test_devices(*setup);
  const auto start = std::chrono::steady_clock::now();
  const TrainOutcome on_device = train(*setup);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  EXPECT_EQ(events_of(on_device.trace), events_of(on_cpu.trace));
  EXPECT_THAT(checker.take_reports(), IsEmpty());
  double busy = 0;
  std::map<int, double> last;  // end of each worker's last work
  for (const Event& event : on_device.trace.events) {
    if (!is_compute(event.action.op)) continue;
    EXPECT_LE(event.start, event.end);
    busy += event.end - event.start;
    EXPECT_GE(event.start, last[event.worker]) << describe(event.action);
    last[event.worker] = event.end;
  }
  EXPECT_GT(busy, took.count());
  EXPECT_LT(busy, testing::kClockRate * 4 * took.count());
}

// The memory of a device's tensors is the CPU's, except for scratch memory of
// the CPU's kernels and messages, which a receiver copies.
TEST_F(DeviceTraining, MemoryOfTheDeviceIsCounted) {
  const auto setup = setup_of(
      config_of({.scheme = "1f1b", .depth = 2, .micros = 4}, {.tied = true}));
  const TrainOutcome on_cpu = train(*setup);
  testing::use_test_devices(*setup);
  const TrainOutcome on_device = train(*setup);
  for (const int rank : {0, 1}) {
    const double expected = on_cpu.peak_bytes[rank];
    EXPECT_GT(on_device.peak_bytes[rank], 0.7 * expected) << rank;
    EXPECT_LT(on_device.peak_bytes[rank], 1.3 * expected) << rank;
  }
}

// Number of host waits, over all ranks, that one more step of `config` takes.
// Those of setting up and of reading the weights are left out.
class HostWaits : public DeviceTraining {
 protected:
  std::int64_t of_a_step(RunConfig config) {
    std::array<std::int64_t, 2> waits = {};
    for (const int steps : {2, 6}) {
      config.train.steps = steps;
      checker.reset_host_waits();
      (void)train_on_device(config);
      for (int rank = 0; rank < testing::kTestDevices; ++rank) {
        waits[steps == 6 ? 1 : 0] += checker.host_waits(rank);
      }
    }
    EXPECT_THAT(checker.take_reports(), IsEmpty());
    EXPECT_EQ((waits[1] - waits[0]) % 4, 0);
    return (waits[1] - waits[0]) / 4;
  }
};

// The vote needs numbers of the device; nothing else of a step waits for it.
TEST_F(HostWaits, AreOnePerWorkerAndStep) {
  for (const int depth : {2, 4}) {
    for (const int micros : {depth, 2 * depth}) {
      EXPECT_EQ(
          of_a_step(config_of(
              {.scheme = "chimera", .depth = depth, .micros = micros}, {})),
          depth)
          << "D=" << depth << " N=" << micros;
    }
  }
}

TEST_F(HostWaits, AreAsFewInEveryModelAndScheme) {
  struct Case {
    const char* scheme;
    Extras extras;
  };
  for (const auto& [scheme, extras] :
       {Case{"chimera", {.tied = true, .kind = "bert"}},
        Case{"zb-v", {.dropout = true, .kind = "llama"}},
        Case{"1f1b", {.recompute = true, .kind = "bert"}},
        Case{"chimera", {.kind = "llama", .precision = Precision::kBf16}},
        Case{"pipedream", {.kind = "bert"}},
        Case{"pipedream-2bw", {.precision = Precision::kBf16}}}) {
    EXPECT_EQ(of_a_step(config_of({.scheme = scheme, .depth = 4, .micros = 4},
                                  extras)),
              4)
        << scheme << testing::text_of(extras);
  }
}

}  // namespace
}  // namespace chimera
