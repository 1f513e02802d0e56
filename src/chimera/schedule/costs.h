// Times and bytes of actions, messages and gradient sums. The caller chooses
// the unit of time (abstract units on the command line, seconds in a profile)
// and uses it throughout.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "chimera/base/names.h"
#include "chimera/schedule/schedule.h"

namespace chimera {

struct StageCosts {
  double forward = 1;
  double input_grad = 1;
  double weight_grad = 1;  // whole backward = input_grad + weight_grad
  double update = 0;
  double weight_bytes = 0;
  double gradient_bytes = 0;
  double optimizer_bytes = 0;
  double activation_bytes = 0;  // of one micro-batch
  double boundary_bytes = 0;    // of the tensor between this stage and the next
  // The time of R; if absent, that of the forward.
  std::optional<double> recompute = {};
  // The part of activation_bytes that a forward keeps even if R makes the rest
  // again.
  double kept_bytes = 0;
  // The share of an activation that is held between I and W: what W needs.
  double omega = 1;

  [[nodiscard]] double recompute_time() const {
    return recompute.value_or(forward);
  }
  bool operator==(const StageCosts&) const = default;
};

// Costs of one round of a gradient sum, if they differ from a message's.
struct SumCosts {
  double latency = 0;
  double time_per_byte = 0;
  // Time per byte of a worker's network card, which all sums that the worker
  // has at once share. 0: there is no such limit, but sums of one pair of
  // workers run one after the other.
  double node_time_per_byte = 0;

  bool operator==(const SumCosts&) const = default;
};

// How a launcher deals ranks out to nodes, in the words of srun: a block of
// consecutive ranks to each node, or one rank to each node in turns.
enum class Distribution { kBlock, kCyclic };
inline constexpr auto kDistributionNames =
    std::to_array<std::string_view>({"block", "cyclic"});
constexpr Names names_of(Distribution) { return kDistributionNames; }

// Links within a node, if they differ from those between nodes. Worker w of
// copy c is rank c * workers + w, and up to `ranks` ranks share a node.
struct NodeCosts {
  int ranks = 1;
  double latency = 0;  // per message, and per round of a sum
  double time_per_byte = 0;
  Distribution distribution = Distribution::kBlock;

  // The node of `rank` among `all` ranks.
  [[nodiscard]] int node_of(int rank, int all) const {
    return distribution == Distribution::kBlock
               ? rank / ranks
               : rank % ((all - 1) / ranks + 1);
  }

  bool operator==(const NodeCosts&) const = default;
};

struct Costs {
  std::vector<StageCosts> stages;
  double latency = 0;        // per message between two workers
  double time_per_byte = 0;  // of each directed link; 0 = free
  // Fixed cost of a message, added to the time of its bytes. It occupies the
  // link, unlike latency.
  double time_per_message = 0;
  // True: a worker that sends does nothing else until its bytes have left.
  bool blocking_sends = false;
  // The time of one group's sum. If absent: Rabenseifner's formula over the
  // stage's gradient bytes with `sums`, or, if that is absent too, with latency
  // and time_per_byte of a message.
  std::optional<double> sum_time;
  std::optional<SumCosts> sums = {};
  // If present, all other costs of links are those between nodes.
  std::optional<NodeCosts> node = {};
  // The weight that the first and the last stage share: its gradient bytes,
  // which have a separate sum, and its update. Not included in those stages'
  // costs.
  double tied_bytes = 0;
  double tied_update = 0;

  bool operator==(const Costs&) const = default;
};

// The command line's time flags. All are times of one D-th of the model, so a
// chunk takes 1/chunks of them.
struct UniformTimes {
  double forward = 1;
  double backward = 2;
  std::optional<double> weight_grad;  // default backward / 2
  double update = 0;
  double latency = 0;
  double sum_time = 0;
  double omega = 1;
};

[[nodiscard]] Costs uniform_costs(const Schedule& schedule,
                                  const UniformTimes& times);

// [stage]: StageCosts::omega.
[[nodiscard]] std::vector<double> omegas(const Costs& costs);
void set_omegas(Costs& costs, const std::vector<double>& omega);

// How long `action` occupies its worker; 0 for everything that is not compute.
[[nodiscard]] double compute_time(const Costs& costs, const Action& action,
                                  int parts);

// The route of a message between two workers of a copy. There are `width`
// copies.
struct Route {
  int from = 0;
  int to = 0;
  int workers = 1;
  int width = 1;
};

struct MessageTime {
  double occupied = 0;  // how long it occupies its link
  double latency = 0;

  [[nodiscard]] double total() const { return latency + occupied; }
};

// The time of a message of `bytes`. It takes the link within a node if the two
// workers share a node in every copy: copies that lie differently wait for the
// slowest one.
[[nodiscard]] MessageTime message_time(const Costs& costs, const Route& route,
                                       double bytes);

// Rabenseifner's all-reduce of `bytes` over `ranks` = r: 2 log2(r) latencies
// and 2 (r-1)/r times the bytes. 0 for one rank.
[[nodiscard]] double rabenseifner_time(const SumCosts& costs, double ranks,
                                       double bytes);

// How the ranks of a sum lie on nodes. Without nodes every rank counts as one.
struct SumRanks {
  double nodes = 1;
  double most = 1;   // ranks on the fullest of them
  double least = 1;  // ranks on the emptiest
};

// REQUIRES: `holders` ascend; they are workers of a copy.
[[nodiscard]] SumRanks sum_ranks(const Costs& costs,
                                 const std::vector<int>& holders, int workers,
                                 int width);

// The time of a sum of `bytes`, ignoring costs.sum_time: Rabenseifner's. With
// nodes first the ranks of a node reduce, so that each has a share of the
// bytes, then shares are summed between nodes, then the ranks of a node gather.
[[nodiscard]] double all_reduce_time(const Costs& costs, const SumRanks& ranks,
                                     double bytes);

// The time of the step's vote, counted from the last ballot.
[[nodiscard]] double vote_time(const Costs& costs, double ranks);

// The time of one sum of `group`, counted from the start by its last member. 0
// for a group with a single holder over all copies.
[[nodiscard]] double sum_time(const Costs& costs, const Schedule& schedule,
                              const SumGroup& group);

// How long a sum of `group` occupies the network card of each member, which
// carries no other sum meanwhile. 0 if cards have no limit.
[[nodiscard]] double card_time(const Costs& costs, const Schedule& schedule,
                               const SumGroup& group);

}  // namespace chimera
