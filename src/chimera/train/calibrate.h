// The profile of this machine for one model, measured by all ranks of a run
// together, on the transport that they will use.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "chimera/comm/transport.h"
#include "chimera/plan/profile.h"
#include "chimera/train/layer_rounds.h"

namespace chimera {

struct CalibrateOptions {
  ModelDetails model;
  TrainConfig train;
  std::vector<int> micro_batches;  // ascending
  int threads = 1;                 // of each rank
  int cores = 1;                   // of this host
  double memory_bytes = 0;         // of one rank; 0 = not known
  double seconds = 0.5;            // at least, for each kind of measurement
  // Micro-batches whose measurement would end later than this are left out,
  // except for the first; 0 = none.
  double most_seconds = 0;
  std::string machine;  // its name
  std::string description;
  std::string source;  // how it was measured
  // Called on rank 0: of all that is to be measured this share is done, and
  // what comes next.
  std::function<void(double share, const std::string& next)> on_progress;
};

// The parts of a calibration. All ranks take the same ones in the same order;
// only rank 0's profile counts.
class Calibration {
 public:
  Calibration(Transport& transport, const CalibrateOptions& options);

  // For whoever measures in turns with something else; ends before the
  // calibration does.
  [[nodiscard]] std::unique_ptr<LayerRounds> layers(int micro_batch);
  // On rank 0, in ascending order of micro-batches.
  void add(const LayerRounds& rounds);
  // Both at once, for `seconds`.
  void measure_layers(int micro_batch);
  // Whether `micro_batch`, as slow as those measured so far, would be done in
  // time. All ranks call it.
  [[nodiscard]] bool has_time_for(int micro_batch);
  // With a single rank there are none: messages and sums are free then.
  void measure_links();
  [[nodiscard]] const Profile& profile() const { return profile_; }

 private:
  Transport& transport_;
  CalibrateOptions options_;
  Meeting meeting_;
  Profile profile_;
  Clock::time_point start_ = Clock::now();
  double sample_s_ = 0;            // of a pass, for each sample; on rank 0
  std::vector<double> slowdowns_;  // by micro-batch
  std::vector<double> jitters_;
  std::vector<double> updates_;
};

// Everything: times are those of one rank that computes while the others wait;
// in turns with these, as many as there are cores for compute at once, which
// gives the contention. All ranks call it; only rank 0's result counts.
[[nodiscard]] Profile calibrate(Transport& transport,
                                const CalibrateOptions& options);

}  // namespace chimera
