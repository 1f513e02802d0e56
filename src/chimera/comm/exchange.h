// Exchanges between all ranks over a Transport: gather, broadcast, agree. All
// ranks call the same function with the same id, whose index is the first of
// those that it uses.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "chimera/comm/bytes_payload.h"
#include "chimera/comm/comm_error.h"
#include "chimera/comm/transport.h"

namespace chimera {

[[nodiscard]] inline MessageId next(MessageId id) {
  ++id.index;
  return id;
}

// Returns on rank 0 the values of every rank, in rank order; elsewhere nothing.
template <class T>
[[nodiscard]] std::vector<std::vector<T>> gather_values(
    Transport& transport, const std::vector<T>& mine, const MessageId& id) {
  const MessageId size_id = id;
  const MessageId values_id = next(id);
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

// Receives one value, however long its sender takes: if the sender is lost, the
// transport throws. `on_late` is called whenever a deadline has passed.
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

// Returns rank 0's value on every rank, however long rank 0 takes to call this.
template <class T>
T broadcast_value(Transport& transport, const T& value, const MessageId& id) {
  if (transport.rank() != 0) {
    return receive_value<T>(transport, id, 0, [] {});
  }
  for (int rank = 1; rank < transport.size(); ++rank) {
    transport.send(id, rank, to_payload(value));
  }
  return value;
}

// Combines the values of all ranks in rank order and returns the result on
// every rank, once every rank has given its value. `on_late(rank)` is called on
// rank 0 whenever a deadline has passed while it waits for that rank.
template <class T, class Combine, class Late>
T agree(Transport& transport, T mine, const MessageId& id,
        const Combine& combine, const Late& on_late) {
  if (transport.rank() != 0) {
    transport.send(id, 0, to_payload(mine));
  } else {
    for (int rank = 1; rank < transport.size(); ++rank) {
      mine = combine(
          mine, receive_value<T>(transport, id, rank, [&] { on_late(rank); }));
    }
  }
  return broadcast_value(transport, mine, next(id));
}

// Returns on every rank the sum over all ranks; also a barrier.
inline double agree_on_sum(Transport& transport, double mine,
                           const MessageId& id) {
  return agree(transport, mine, id, std::plus<>(), [](int) {});
}

// Returns on every rank the text of rank 0, which may still be computing it;
// the other ranks pass an empty future. Rank 0 sends a sign of life every
// `patience`, so that no deadline of a waiting rank passes.
[[nodiscard]] inline std::string broadcast_text(
    Transport& transport, std::future<std::string> text,
    std::chrono::duration<double> patience, MessageId id) {
  constexpr std::uint64_t kNotYet = ~std::uint64_t{0};
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
