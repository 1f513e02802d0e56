// Measures this machine's profile for one model. All ranks of a run measure
// together, on the transport that they will train on.
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
  int threads = 1;                 // per rank
  int cores = 1;                   // of this host
  at::Device device = at::kCPU;    // of this rank
  double memory_bytes = 0;         // per rank; 0 = unknown
  double seconds = 0.5;            // at least, per kind of measurement
  // Skips micro-batches whose measurement would end later than this, except the
  // first one; 0 = no limit.
  double most_seconds = 0;
  std::string machine;  // name of the machine
  std::string description;
  std::string source;  // how the profile was measured
  // Called on rank 0 with the share that is done and a description of what
  // comes next.
  std::function<void(double share, const std::string& next)> on_progress;
};

// The steps of a calibration. All ranks call the same functions in the same
// order; only rank 0's profile counts.
class Calibration {
 public:
  Calibration(Transport& transport, const CalibrateOptions& options);

  // For a caller that alternates these measurements with others of its own.
  // REQUIRES: destroyed before the calibration.
  [[nodiscard]] std::unique_ptr<LayerRounds> layers(int micro_batch);
  // Adds the result to the profile. REQUIRES: rank 0; micro-batches ascend.
  void add(const LayerRounds& rounds);
  // Runs layers() for `seconds` and adds the result.
  void measure_layers(int micro_batch);
  // Whether `micro_batch` would be measured in time if a sample takes as long
  // as so far. All ranks call it.
  [[nodiscard]] bool has_time_for(int micro_batch);
  // Measures messages and sums. Does nothing with a single rank, which has
  // none.
  void measure_links();
  [[nodiscard]] const Profile& profile() const { return profile_; }

 private:
  Transport& transport_;
  CalibrateOptions options_;
  Meeting meeting_;
  Profile profile_;
  Clock::time_point start_ = Clock::now();
  double sample_s_ = 0;            // seconds of a pass, per sample; on rank 0
  std::vector<double> slowdowns_;  // by micro-batch
  std::vector<double> jitters_;
  std::vector<double> updates_;
};

// Runs a whole calibration. Times are those of one rank that computes while the
// others wait. In turns with these, as many ranks as there are cores compute at
// once, which gives the contention. All ranks call it; only rank 0's result
// counts.
[[nodiscard]] Profile calibrate(Transport& transport,
                                const CalibrateOptions& options);

}  // namespace chimera
