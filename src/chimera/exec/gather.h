// What every rank has, brought to rank 0; and what rank 0 has, to all.
#pragma once

#include <string>
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

// On every rank: the text of rank 0. All ranks call it.
[[nodiscard]] inline std::string spread_text(Transport& transport,
                                             const std::string& text,
                                             int step) {
  const MessageId size_id{0, step};
  const MessageId text_id{1, step};
  if (transport.rank() == 0) {
    const std::uint64_t bytes = text.size();
    for (int rank = 1; rank < transport.size(); ++rank) {
      transport.send(size_id, rank, to_payload(bytes));
      transport.send(text_id, rank, to_payload(std::span(text)));
    }
    return text;
  }
  transport.post_receive(size_id, 0, empty_bytes(sizeof(std::uint64_t)));
  const auto bytes =
      from_payload<std::uint64_t>(*transport.receive(size_id, 0).payload);
  transport.post_receive(text_id, 0, empty_bytes(bytes));
  const std::vector<char> letters =
      values_of<char>(*transport.receive(text_id, 0).payload);
  return {letters.begin(), letters.end()};
}

}  // namespace chimera
