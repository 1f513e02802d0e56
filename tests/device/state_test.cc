// What a run does between its steps, on the test device: evaluations, saves,
// comparisons of replicas, resuming, recovery.
#include <atomic>
#include <filesystem>
#include <functional>
#include <thread>

#include "chimera/checkpoint/catalog.h"
#include "chimera/exec/run_threads.h"
#include "chimera/model/device_clock.h"
#include "chimera/train/calibrate.h"
#include "tests/device/device_training.h"

namespace chimera {
namespace {

using testing::config_of;
using testing::DeviceTraining;
using testing::expect_same_bits;
using testing::Extras;
using ::testing::IsEmpty;
using testing::kClockRate;
using testing::Keeper;
using testing::Outcome;
using testing::setup_of;
using testing::test_device;
using testing::use_test_devices;

class DeviceState : public DeviceTraining {
 protected:
  ~DeviceState() override { std::filesystem::remove_all(directory()); }

  static std::string directory() {
    return ::testing::TempDir() + "device_state_" + std::to_string(getpid());
  }
  static std::string directory(const std::string& name) {
    return directory() + "/" + name;
  }

  static std::unique_ptr<RunSetup> resumed(const RunConfig& config,
                                           const std::string& checkpoint) {
    auto setup = set_up(config, {.host_cores = 2, .checkpoint = checkpoint});
    if (!setup) throw std::runtime_error(to_string(setup.errors()[0]));
    use_test_devices(**setup);
    return std::move(setup).value();
  }
};

RunConfig five_steps(const char* scheme, const Extras& extras) {
  RunConfig config =
      config_of({.scheme = scheme, .depth = 4, .micros = 4}, extras);
  config.train.steps = 5;
  return config;
}

TEST_F(DeviceState, AnEvaluationHasTheBitsOfTheCpu) {
  for (const char* kind : {"gpt2", "bert", "llama"}) {
    RunConfig config =
        five_steps("chimera", {.tied = true, .dropout = true, .kind = kind});
    config.data.eval_path = config.data.path.at(0);
    config.train.eval_every = 2;
    SCOPED_TRACE(kind);
    expect_bits_of_the_cpu(config);
  }
}

// Saves while it trains on, and goes on from each save with the bits of a run
// that never stopped.
TEST_F(DeviceState, AResumedRunHasTheBitsOfTheCpu) {
  struct Case {
    const char* scheme;
    Extras extras;
    bool shards;
  };
  for (const auto& [scheme, extras, shards] :
       {Case{"chimera", {.tied = true}, false},
        Case{"chimera", {.width = 2, .kind = "bert"}, true},
        Case{"zb-v", {.kind = "llama", .precision = Precision::kBf16}, false},
        Case{"pipedream-2bw", {.dropout = true}, false}}) {
    SCOPED_TRACE(scheme + text_of(extras));
    RunConfig config = five_steps(scheme, extras);
    config.train.shard_update = shards;
    const Outcome whole = outcome_of(*setup_of(config));
    config.run.dir = directory(scheme + std::to_string(shards));
    config.run.save_every = 2;
    config.run.keep = 9;
    expect_same_bits(whole, train_on_device(config));
    EXPECT_THAT(checker.take_reports(), IsEmpty());
    const auto saves = list_checkpoints(config.run.dir);
    ASSERT_EQ(saves.size(), 3U);
    config.run.dir.clear();
    for (const CheckpointEntry& save : saves) {
      if (save.step == 5) continue;
      SCOPED_TRACE(save.step);
      const Outcome rest = outcome_of(*resumed(config, save.path));
      expect_same_bits({{}, whole.weights}, {{}, rest.weights});
      EXPECT_THAT(checker.take_reports(), IsEmpty());
    }
  }
}

// Wraps a layer and throws in one training forward.
class FailsOnce final : public Layer {
 public:
  FailsOnce(std::unique_ptr<Layer> layer, int forward)
      : layer_(std::move(layer)), left_(forward) {}

  const std::string& name() const override { return layer_->name(); }
  const std::vector<ParameterSpec>& parameters() const override {
    return layer_->parameters();
  }
  at::Tensor forward(const at::Tensor& x, std::span<const at::Tensor> weights,
                     const LayerContext& context) const override {
    if (context.training && --left_ == 0) {
      throw std::runtime_error("a cosmic ray");
    }
    return layer_->forward(x, weights, context);
  }
  double forward_flops() const override { return layer_->forward_flops(); }

 private:
  std::unique_ptr<Layer> layer_;
  mutable std::atomic<int> left_;
};

TEST_F(DeviceState, AFailedWorkerIsReplaced) {
  for (const VoteMode vote : {VoteMode::kWait, VoteMode::kLate}) {
    RunConfig config = five_steps("chimera", {.tied = true, .kind = "llama"});
    config.train.clip = 0.5;
    config.train.vote = vote;
    const Outcome whole = outcome_of(*setup_of(config));
    config.run.recover = true;
    for (const int forward : {1, 11}) {
      SCOPED_TRACE(forward);
      config.run.dir = directory(std::to_string(forward));
      const auto setup = setup_of(config);
      ASSERT_TRUE(setup->recovers);
      use_test_devices(*setup);
      auto& layer = setup->model.layers[3];
      layer = std::make_unique<FailsOnce>(std::move(layer), forward);
      Keeper keeper(checker);
      const TrainOutcome outcome = train(*setup, keeper);
      ASSERT_EQ(keeper.recovered.size(), 1U);
      EXPECT_EQ(keeper.recovered[0].reason, "a cosmic ray");
      expect_same_bits({{}, whole.weights}, {{}, outcome.weights});
      EXPECT_THAT(checker.take_reports(), IsEmpty());
      std::filesystem::remove_all(config.run.dir);
    }
  }
}

// A save's copies are pinned and asynchronous: the ranks' threads wait for
// nothing but their votes and the hashes of their replicas.
TEST_F(DeviceState, ASaveDoesNotMakeTheRanksWait) {
  const auto waits_of = [&](int save_every) {
    RunConfig config = five_steps("chimera", {});
    config.train.steps = 8;
    config.run.check_every = 1;  // a save compares replicas, too
    config.run.dir = directory("saves" + std::to_string(save_every));
    config.run.save_every = save_every;
    checker.reset_host_waits();
    (void)train_on_device(config);
    std::int64_t waits = 0;
    for (int rank = 0; rank < 4; ++rank) waits += checker.host_waits(rank);
    return waits;
  };
  EXPECT_EQ(waits_of(1), waits_of(8));
  EXPECT_THAT(checker.take_reports(), IsEmpty());
}

// One calibration of two ranks, as threads, on each kind of device.
Profile calibrated(const RunSetup& setup,
                   const std::function<at::Device(int rank)>& device_of) {
  Profile found;
  run_threads({.ranks = 2, .deadline = std::chrono::seconds(60)},
              [&](Transport& transport) {
                const Profile profile =
                    calibrate(transport, {.model = setup.model.details,
                                          .train = setup.config.train,
                                          .micro_batches = {2},
                                          .cores = 2,
                                          .device = device_of(transport.rank()),
                                          .seconds = 0.01});
                if (transport.rank() == 0) found = profile;
              });
  return found;
}

TEST_F(DeviceState, ACalibrationTakesTimesAndBytesOfTheDevice) {
  const auto setup = setup_of(five_steps("chimera", {}));
  const Profile host = calibrated(*setup, [](int) { return at::kCPU; });
  const Profile device =
      calibrated(*setup, [](int rank) { return test_device(rank); });
  EXPECT_THAT(checker.take_reports(), IsEmpty());
  EXPECT_EQ(device.cores, 0);
  EXPECT_GT(device.link.latency_s + device.link.s_per_byte, 0);
  EXPECT_GT(device.sum.latency_s + device.sum.s_per_byte, 0);
  for (std::size_t kind = 0; kind < host.layers.size(); ++kind) {
    SCOPED_TRACE(host.layers[kind].name);
    const LayerTable& expected = host.layers[kind].table;
    const LayerTable& table = device.layers[kind].table;
    // The device's clock is kClockRate times as fast as the host's.
    EXPECT_GT(table.forward_s[0], 0.2 * kClockRate * expected.forward_s[0]);
    EXPECT_GT(table.input_grad_s[0] + table.weight_grad_s[0],
              0.2 * kClockRate *
                  (expected.input_grad_s[0] + expected.weight_grad_s[0]));
    EXPECT_NEAR(table.activation_bytes[0], expected.activation_bytes[0],
                0.02 * expected.activation_bytes[0] + 64);
    EXPECT_NEAR(table.deferred_bytes[0], expected.deferred_bytes[0],
                0.02 * expected.deferred_bytes[0] + 64);
  }
}

// The clock with many epochs gives a span that lies between two spans of the
// other clock, one within it and one around it.
TEST_F(DeviceState, TimesDoNotDependOnEpochs) {
  const at::Device device = test_device(0);
  const c10::Stream stream =
      c10::impl::VirtualGuardImpl(device.type()).getStream(device);
  DeviceClock one_epoch(stream);
  DeviceClock many_epochs(stream, Clock::duration::zero());
  const TimeMarkPtr outer_start = one_epoch.mark();
  const TimeMarkPtr start = many_epochs.mark();
  const TimeMarkPtr inner_start = one_epoch.mark();
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    static_cast<void>(many_epochs.mark());
  }
  const TimeMarkPtr inner_end = one_epoch.mark();
  const TimeMarkPtr end = many_epochs.mark();
  const TimeMarkPtr outer_end = one_epoch.mark();
  const Clock::duration span = end->time() - start->time();
  constexpr std::chrono::microseconds kRounding{500};
  EXPECT_GE(span, inner_end->time() - inner_start->time() - kRounding);
  EXPECT_LE(span, outer_end->time() - outer_start->time() + kRounding);
  EXPECT_GT(span, std::chrono::milliseconds(10));
}

}  // namespace
}  // namespace chimera
