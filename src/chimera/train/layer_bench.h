// Measures the layers of a model on this machine, through the same StageCompute
// that training uses. The model is small: embeddings, a few blocks and a head,
// each kind in a stage of its own, on random tokens.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "chimera/config/run_config.h"
#include "chimera/model/model.h"
#include "chimera/model/torch_compute.h"

namespace chimera {

// Seconds per layer.
struct LayerTimes {
  double forward = 0;
  double backward = 0;  // not split
  double input_grad = 0;
  double weight_grad = 0;
};

// Bytes per layer, as in a profile.
struct LayerBytes {
  double activation = 0;
  double workspace = 0;
  double deferred = 0;
  double input_workspace = 0;  // of I, where the backward is split
};

inline constexpr int kLayerKinds = 3;  // embeddings, block, head

struct BenchTimes {
  std::array<LayerTimes, kLayerKinds> layers;
  double update_per_parameter = 0;  // including the gradient's norm and zeroing
};

struct LayerBenchOptions {
  ModelDetails model;
  TrainConfig train;  // sets the optimizer
  int micro_batch = 1;
  int threads = 1;
  at::Device device = at::kCPU;
};

// Used by one thread.
class LayerBench {
 public:
  explicit LayerBench(const LayerBenchOptions& options);
  ~LayerBench();
  LayerBench(const LayerBench&) = delete;
  LayerBench& operator=(const LayerBench&) = delete;

  // Estimate of the memory that a LayerBench takes once it has run.
  [[nodiscard]] static double bytes_needed(const LayerBenchOptions& options);

  // Runs one step with each kind of backward and returns the times.
  [[nodiscard]] BenchTimes time_once();
  [[nodiscard]] std::array<LayerBytes, kLayerKinds> measure_bytes();

 private:
  class Pass;

  LayerBenchOptions options_;
  Model model_;
  int blocks_;
  std::unique_ptr<Pass> whole_;  // runs whole backwards
  std::unique_ptr<Pass> split_;  // runs split backwards
};

}  // namespace chimera
