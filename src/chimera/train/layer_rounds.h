// The layers of a model at one micro-batch size, measured by all ranks of a
// run together, a round at a time. Machines are faster at one moment than at
// another: what is to be compared is measured in turns.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "chimera/comm/exchange.h"
#include "chimera/train/layer_bench.h"

namespace chimera {

// Barriers between all ranks, at which one of them tells a number.
class Meeting {
 public:
  explicit Meeting(Transport& transport) : transport_(transport) {}

  // Returns the number of rank `rank` on all ranks, once all have come.
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

// What is usual: of each round the mean, of the rounds the median.
struct LayerSummary {
  BenchTimes times;  // of a rank that computes while the others wait
  std::array<double, kLayerKinds> spread = {};
  double slowdown = 1;  // of a block while all cores compute
  double jitter = 0;    // between ranks meanwhile: see Profile
};

class LayerRounds {
 public:
  // `busy`: how many ranks the cores can serve at once. All ranks have one.
  LayerRounds(Meeting& meeting, const LayerBenchOptions& options, int busy);

  [[nodiscard]] int micro_batch() const { return micro_batch_; }
  [[nodiscard]] const std::array<LayerBytes, kLayerKinds>& bytes() const {
    return bytes_;
  }
  // Seconds that a pass over all layers takes; on rank 0.
  [[nodiscard]] double pass_seconds() const { return seconds_; }
  // A round: one rank alone for about so long, then all cores. All ranks call
  // it.
  void run(double seconds);
  // On rank 0.
  [[nodiscard]] LayerSummary summary() const;

 private:
  // Seconds of a block.
  struct Both {
    double forward;
    double backward;
  };

  [[nodiscard]] std::vector<Both> run_together();
  void compare_ranks(LayerSummary& summary) const;

  Meeting& meeting_;
  int micro_batch_;
  int busy_;
  std::unique_ptr<LayerBench> bench_;  // on ranks that compute
  std::array<LayerBytes, kLayerKinds> bytes_ = {};
  double seconds_ = 0;  // of a pass, once allocators and caches are warm
  std::vector<std::vector<BenchTimes>> alone_;  // [round][pass]
  // While all cores compute, [round][pass][rank].
  std::vector<std::vector<std::vector<Both>>> together_;
};

}  // namespace chimera
