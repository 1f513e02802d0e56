// What a machine takes for the layers of a model: the figures that predictions
// are made of. Calibration writes one, profiles/ has three of GPUs.
//
// A profile knows layers by their shape. For a shape that it does not know,
// layer_costs.h scales the one that resembles it most.
#pragma once

#include <string>
#include <vector>

#include "chimera/plan/model_layers.h"

namespace chimera {

// One row per micro-batch size, ascending. Lists that may be left out are
// empty, all others equally long.
struct LayerTable {
  std::vector<double> micro_batch;
  std::vector<double> forward_s;
  std::vector<double> input_grad_s;
  std::vector<double> weight_grad_s;
  // What a forward keeps for its backward, of the whole micro-batch: with its
  // output, without its input.
  std::vector<double> activation_bytes;
  // What a backward needs beyond that for as long as it runs.
  std::vector<double> workspace_bytes;
  // What stays between the halves of a backward.
  std::vector<double> deferred_bytes;
  // Standard deviation over mean of repeated measurements.
  std::vector<double> spread;

  bool operator==(const LayerTable&) const = default;
};

struct LayerProfile {
  std::string name;
  LayerShape shape;
  bool derived = false;  // computed from other layers, not measured
  LayerTable table;

  bool operator==(const LayerProfile&) const = default;
};

// Latency and bandwidth: of a message, or of each round of a sum.
struct LinkProfile {
  double latency_s = 0;
  double s_per_byte = 0;
  bool blocking = false;  // a worker waits until its message has left

  bool operator==(const LinkProfile&) const = default;
};

struct Profile {
  std::string name;
  std::string description;
  std::string source;
  double memory_bytes = 0;  // of one worker; 0 = not known
  // Where workers share processors, else 0: how many there are, threads of each
  // worker, and how much longer compute takes with all of them busy than alone,
  // as the times below are.
  int cores = 0;
  int threads = 0;
  double contention = 0;
  // How much the times of workers that do the same at once differ: the standard
  // deviation, as a share.
  double jitter = 0;
  LinkProfile link;
  LinkProfile sum;  // in Rabenseifner's formula
  double update_s_per_parameter = 0;
  std::vector<LayerProfile> layers;  // at least one block

  bool operator==(const Profile&) const = default;
};

}  // namespace chimera
