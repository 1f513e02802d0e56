// A rank of torch.distributed: a Transport on process groups that Python has
// made (Gloo or NCCL; their own classes are not needed here).
//
// Messages of one pair of ranks share one first-in-first-out line in a group,
// so every used direction has a child group of its own, and so has every sum:
// nothing waits behind what it has nothing to do with. Calls into a group
// return at once; Lanes wait for what they have started.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>
#include <vector>

#include "chimera/comm/transport.h"

namespace chimera {

using ProcessGroupPtr = c10::intrusive_ptr<c10d::ProcessGroup>;

struct C10dOptions {
  // All ranks: votes, and messages between ranks without an edge.
  ProcessGroupPtr world;
  // Groups of two, one for each edge {from, to} that this rank is an end of.
  std::map<std::pair<int, int>, ProcessGroupPtr> edges;
  // By number of the sum: its members in ascending order. Null where this rank
  // is no member, or the only one.
  std::vector<ProcessGroupPtr> sums;
  c10::intrusive_ptr<c10d::Store> store;  // of this transport alone
  std::chrono::duration<double> deadline{300};
  // Sums by the tree of sum_tree.h instead of the group's own all-reduce: the
  // bits of every other transport.
  bool exact = false;
  at::Device device = at::kCPU;  // of payloads and buffers
  // Called by a waiting worker a few times a second; may throw.
  std::function<void()> while_waiting;
};

// Connects all groups: every rank of `world` makes its own at the same time.
[[nodiscard]] std::unique_ptr<Transport> make_c10d_transport(
    C10dOptions options);

}  // namespace chimera
