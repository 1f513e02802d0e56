// The costs of a model's layers on one machine, from which predictions are
// made. `chimera calibrate` writes a profile; profiles/ has five for GPUs.
//
// A profile lists layers by shape. For a shape that it lacks, layer_costs.h
// scales the most similar one.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "chimera/plan/model_layers.h"
#include "chimera/schedule/costs.h"

namespace chimera {

// One row per micro-batch size, ascending. Optional lists are empty if left
// out; all others have the same length.
struct LayerTable {
  std::vector<double> micro_batch;
  std::vector<double> forward_s;
  std::vector<double> input_grad_s;
  std::vector<double> weight_grad_s;
  // Bytes that the forward of a micro-batch keeps for its backward, including
  // its output but not its input.
  std::vector<double> activation_bytes;
  // Further bytes that a backward needs while it runs.
  std::vector<double> workspace_bytes;
  // Bytes kept between I and W, the two halves of a backward.
  std::vector<double> deferred_bytes;
  // Further bytes that I needs while it runs.
  std::vector<double> input_workspace_bytes;
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

// Latency and bandwidth of a message, or of each round of a sum.
struct LinkProfile {
  double latency_s = 0;
  double s_per_byte = 0;
  double s_per_message = 0;    // fixed time of each message
  double node_s_per_byte = 0;  // all sums of a worker together; 0 = no limit
  bool blocking = false;       // a worker waits for its own sends

  bool operator==(const LinkProfile&) const = default;
};

// Links within a node, for messages and sums.
struct NodeProfile {
  int ranks = 1;  // ranks that share a node
  double latency_s = 0;
  double s_per_byte = 0;
  // Property of a launch rather than of the machine: how ranks are dealt to
  // nodes.
  Distribution distribution = Distribution::kBlock;

  bool operator==(const NodeProfile&) const = default;
};

struct Profile {
  std::string name;
  std::string description;
  std::string source;
  double memory_bytes = 0;  // memory of one worker; 0 = unknown
  // For workers that share processors, otherwise 0: number of cores, threads
  // per worker, and the factor by which compute is slower while all of them
  // compute. The times below are those of one worker that computes alone.
  int cores = 0;
  int threads = 0;
  double contention = 0;
  // Standard deviation, relative to the mean, between the times of workers that
  // do the same work at once.
  double jitter = 0;
  LinkProfile link;
  LinkProfile sum;  // costs of one round of Rabenseifner's algorithm
  // Links within a node. If present, `link` and `sum` are those between nodes.
  std::optional<NodeProfile> node = {};
  double update_s_per_parameter = 0;
  // By ModelKind (GPT-2, BERT, Llama): how much longer a block takes in this
  // machine's software than the tables below say.
  std::array<double, 3> block_factor = {1, 1, 1};
  std::vector<LayerProfile> layers;  // one block or more
  // Replaces the layers' share of an activation that is held between I and W.
  // Not in a profile's text.
  std::optional<double> omega = {};

  bool operator==(const Profile&) const = default;
};

}  // namespace chimera
