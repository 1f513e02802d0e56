// A Transport on torch.distributed process groups that Python has made (Gloo or
// NCCL; their classes are not needed here).
//
// Within a group, the messages of one pair of ranks share a first-in-first-out
// queue. Every direction that is used and every sum therefore has a child
// group, so that unrelated messages never wait for each other. Calls into a
// group return at once; Lanes wait for their completion.
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
  // The group of all ranks: votes, and messages between ranks without an edge.
  ProcessGroupPtr world;
  // Groups of two, one for each edge {from, to} that this rank is an end of.
  std::map<std::pair<int, int>, ProcessGroupPtr> edges;
  // [sum]: the group of its members, in ascending order. Null if this rank is
  // not a member, or is the only one.
  std::vector<ProcessGroupPtr> sums;
  c10::intrusive_ptr<c10d::Store> store;  // a store that nothing else uses
  std::chrono::duration<double> deadline{300};
  // True: sums add by the tree of sum_tree.h instead of the backend's
  // all-reduce, and give the same bits as every other transport.
  bool exact = false;
  at::Device device = at::kCPU;  // device of payloads and buffers
  // Called by a waiting worker several times a second; may throw.
  std::function<void()> while_waiting;
};

// Connects all groups. Collective: every rank of `world` calls it at the same
// time.
[[nodiscard]] std::unique_ptr<Transport> make_c10d_transport(
    C10dOptions options);

}  // namespace chimera
