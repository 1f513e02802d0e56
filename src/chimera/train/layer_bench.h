// What the layers of a model take on this machine, measured through the same
// StageCompute that training uses: a small model of embeddings, a few blocks
// and head, each kind a stage of its own, on random tokens.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "chimera/config/run_config.h"
#include "chimera/model/model.h"
#include "chimera/model/torch_compute.h"

namespace chimera {

// Seconds of one layer.
struct LayerTimes {
  double forward = 0;
  double backward = 0;  // whole
  double input_grad = 0;
  double weight_grad = 0;
};

// Of one layer, as a profile has them.
struct LayerBytes {
  double activation = 0;
  double workspace = 0;
  double deferred = 0;
};

inline constexpr int kLayerKinds = 3;  // embeddings, block, head

struct BenchTimes {
  std::array<LayerTimes, kLayerKinds> layers;
  double update_per_parameter = 0;  // with the gradient's norm and its clearing
};

struct LayerBenchOptions {
  ModelDetails model;
  TrainConfig train;  // its optimizer
  int micro_batch = 1;
  int threads = 1;
};

// Used by one thread.
class LayerBench {
 public:
  explicit LayerBench(const LayerBenchOptions& options);
  ~LayerBench();
  LayerBench(const LayerBench&) = delete;
  LayerBench& operator=(const LayerBench&) = delete;

  // About what one needs in memory, once it has run.
  [[nodiscard]] static double bytes_needed(const LayerBenchOptions& options);

  // One step of everything.
  [[nodiscard]] BenchTimes time_once();
  [[nodiscard]] std::array<LayerBytes, kLayerKinds> measure_bytes();

 private:
  class Pass;

  LayerBenchOptions options_;
  Model model_;
  int blocks_;
  std::unique_ptr<Pass> whole_;  // backwards in one piece
  std::unique_ptr<Pass> split_;  // and in two
};

}  // namespace chimera
