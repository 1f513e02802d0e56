// What every rank has, brought to rank 0 at the end of a run.
#pragma once

#include <vector>

#include "chimera/comm/bytes_payload.h"
#include "chimera/comm/transport.h"

namespace chimera {

// On rank 0: the values of every rank, in rank order; elsewhere empty. All
// ranks call it; `step` keeps its messages apart from all others.
template <class T>
[[nodiscard]] std::vector<std::vector<T>> gather_values(
    Transport& transport, const std::vector<T>& mine, int step) {
  const MessageId size_id{0, step};
  const MessageId values_id{1, step};
  if (transport.rank() != 0) {
    const std::uint64_t bytes = mine.size() * sizeof(T);
    transport.send(size_id, 0, to_payload(bytes));
    if (bytes > 0) transport.send(values_id, 0, to_payload(std::span(mine)));
    return {};
  }
  std::vector<std::vector<T>> all(transport.size());
  all[0] = mine;
  for (int rank = 1; rank < transport.size(); ++rank) {
    transport.post_receive(size_id, rank, empty_bytes(sizeof(std::uint64_t)));
    const auto bytes =
        from_payload<std::uint64_t>(*transport.receive(size_id, rank).payload);
    if (bytes == 0) continue;
    transport.post_receive(values_id, rank, empty_bytes(bytes));
    all[rank] = values_of<T>(*transport.receive(values_id, rank).payload);
  }
  return all;
}

}  // namespace chimera
