// What every rank has, brought to rank 0; and what rank 0 has, to all.
#pragma once

#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "chimera/comm/bytes_payload.h"
#include "chimera/comm/comm_error.h"
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

// One value of another rank, however long it takes: what is lost, the transport
// tells. `on_late` is called whenever a deadline has passed.
template <class T, class Late>
[[nodiscard]] T receive_value(Transport& transport, const MessageId& id,
                              int from, const Late& on_late) {
  transport.post_receive(id, from, empty_bytes(sizeof(T)));
  for (;;) {
    try {
      return from_payload<T>(*transport.receive(id, from).payload);
    } catch (const TimeoutError&) {
      on_late();
    }
  }
}

// On every rank: the text that rank 0 has, or is still at work on. All ranks
// call it; the others give an empty future. So that no deadline passes while
// they wait, rank 0 tells them every `patience` that it is still there.
[[nodiscard]] inline std::string spread_text(
    Transport& transport, std::future<std::string> text,
    std::chrono::duration<double> patience, int step) {
  constexpr std::uint64_t kNotYet = ~std::uint64_t{0};
  MessageId id{0, step};
  if (transport.rank() != 0) {
    std::uint64_t size = kNotYet;
    for (; size == kNotYet; ++id.index) {
      transport.post_receive(id, 0, empty_bytes(sizeof size));
      size = from_payload<std::uint64_t>(*transport.receive(id, 0).payload);
    }
    transport.post_receive(id, 0, empty_bytes(size));
    const std::vector<char> letters =
        values_of<char>(*transport.receive(id, 0).payload);
    return {letters.begin(), letters.end()};
  }
  const auto tell_all = [&](const PayloadMaker& make) {
    for (int rank = 1; rank < transport.size(); ++rank) {
      transport.send(id, rank, make());
    }
    ++id.index;
  };
  while (text.wait_for(patience) != std::future_status::ready) {
    tell_all([&] { return to_payload(kNotYet); });
  }
  std::string ready = text.get();
  const std::uint64_t size = ready.size();
  tell_all([&] { return to_payload(size); });
  tell_all([&] { return to_payload(std::span(ready)); });
  return ready;
}

}  // namespace chimera
