// Measures the layers of a model at one micro-batch size on all ranks together,
// a round at a time. A machine is faster at one moment than at another, so
// measurements to be compared alternate.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "chimera/comm/exchange.h"
#include "chimera/train/layer_bench.h"

namespace chimera {

// A barrier between all ranks at which one of them announces a number.
class Meeting {
 public:
  explicit Meeting(Transport& transport) : transport_(transport) {}

  // Waits for all ranks and returns the number of rank `rank` on each of them.
  double agree(double number, int rank = 0) {
    const bool tells = transport_.rank() == rank;
    return agree_on_sum(transport_, tells ? number : 0,
                        {.step = step_++, .channel = Channel::kMeeting});
  }
  [[nodiscard]] int rank() const { return transport_.rank(); }
  [[nodiscard]] int size() const { return transport_.size(); }

 private:
  Transport& transport_;
  int step_ = 0;
};

// Typical times: the mean of each round, then the median of the rounds.
struct LayerSummary {
  BenchTimes times;  // one rank computes, the others wait
  std::array<double, kLayerKinds> spread = {};
  double slowdown = 1;  // of a block while all cores compute
  double jitter = 0;    // between ranks while all compute: see Profile
};

class LayerRounds {
 public:
  // `busy`: how many ranks the cores can serve at once; the same on all ranks.
  LayerRounds(Meeting& meeting, const LayerBenchOptions& options, int busy);

  [[nodiscard]] int micro_batch() const { return micro_batch_; }
  [[nodiscard]] const std::array<LayerBytes, kLayerKinds>& bytes() const {
    return bytes_;
  }
  // Seconds that a pass over all layers takes. REQUIRES: rank 0.
  [[nodiscard]] double pass_seconds() const { return seconds_; }
  // Runs one round: first one rank alone for about `seconds`, then all busy
  // ranks at once. All ranks call it.
  void run(double seconds);
  // REQUIRES: rank 0.
  [[nodiscard]] LayerSummary summary() const;

 private:
  // Seconds of a block's forward and backward.
  struct Both {
    double forward;
    double backward;
  };

  [[nodiscard]] std::vector<Both> run_together();
  void compare_ranks(LayerSummary& summary) const;

  Meeting& meeting_;
  int micro_batch_;
  int busy_;
  std::unique_ptr<LayerBench> bench_;  // null on ranks that only wait
  std::array<LayerBytes, kLayerKinds> bytes_ = {};
  double seconds_ = 0;                          // of a warm pass
  std::vector<std::vector<BenchTimes>> alone_;  // [round][pass]
  // Measured while all cores compute: [round][pass][rank].
  std::vector<std::vector<std::vector<Both>>> together_;
};

}  // namespace chimera
