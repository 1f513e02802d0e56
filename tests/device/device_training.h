// Training on the test device, compared with the CPU.
#pragma once

#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "chimera/exec/flight_recorder.h"
#include "tests/device/test_device.h"
#include "tests/training_cases.h"

namespace chimera::testing {

// Keeps what a run leaves, and each rank's last actions for reports.
class Keeper : public TrainObserver {
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
    if (report.evaluation_loss) {
      outcome.numbers.push_back(*report.evaluation_loss);
    }
  }
  void on_recovered(const Recovered& report) override {
    recovered.push_back(report);
  }
  FlightRecorder* flight(int rank) override { return &flights_[rank]; }

  Outcome outcome;
  std::vector<Recovered> recovered;

 private:
  OrderChecker& checker_;
  std::array<FlightRecorder, kTestDevices> flights_;
};

// Gives each rank of `setup` a test device of its own.
inline void use_test_devices(RunSetup& setup) {
  for (std::size_t rank = 0; rank < setup.devices.size(); ++rank) {
    setup.devices[rank] = test_device(static_cast<int>(rank));
  }
}

class DeviceTraining : public ::testing::Test {
 protected:
  // Attention by the same kernels on both devices: libtorch's fused one is for
  // the CPU only.
  DeviceTraining() {
    at::globalContext().setSDPUseFlash(false);
    (void)checker.take_reports();
    checker.reset_host_waits();
  }

  Outcome outcome_of(const RunSetup& setup) {
    Keeper keeper(checker);
    keeper.outcome.weights = train(setup, keeper).weights;
    return std::move(keeper.outcome);
  }

  Outcome train_on_device(const RunConfig& config) {
    const auto setup = setup_of(config);
    use_test_devices(*setup);
    return outcome_of(*setup);
  }

  void expect_bits_of_the_cpu(const RunConfig& config) {
    const Outcome expected = outcome_of(*setup_of(config));
    expect_same_bits(expected, train_on_device(config));
    EXPECT_THAT(checker.take_reports(), ::testing::IsEmpty());
  }

  OrderChecker& checker = use_test_device();
};

}  // namespace chimera::testing
