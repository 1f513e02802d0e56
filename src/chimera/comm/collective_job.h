// A collective that all members have started: arithmetic on their buffers, cut
// into blocks. Any thread may run any block in any order: every element is
// added by the same tree, so the bits do not change.
#pragma once

#include <cstddef>
#include <vector>

#include "chimera/comm/transport.h"

namespace chimera {

class CollectiveJob {
 public:
  // REQUIRES: `buffers` are in member order and agree in count and type.
  CollectiveJob(CollectiveId::Kind kind, std::vector<NumberBuffer> buffers);

  [[nodiscard]] std::size_t num_blocks() const { return num_blocks_; }
  // Leaves the result of one block in every member's buffer.
  void run_block(std::size_t block) const;

 private:
  [[nodiscard]] bool is_on_devices() const {
    return buffers_[0].device != nullptr;
  }
  template <class T>
  void sum(std::size_t begin, std::size_t end) const;
  [[nodiscard]] Shard part_of(int member, std::size_t begin,
                              std::size_t end) const;
  void gather(std::size_t begin, std::size_t end) const;

  CollectiveId::Kind kind_;
  std::vector<NumberBuffer> buffers_;
  std::size_t num_blocks_;
};

}  // namespace chimera
