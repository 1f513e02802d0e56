// The mailbox of one rank: messages, complete collectives and results of votes.
// Other threads put items; only the rank's own thread takes them, and sleeps
// while it waits.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "chimera/comm/transport.h"

namespace chimera {

class Mailbox {
 public:
  // An item whose span ends in the future can be taken only from then on.
  void put_message(const MessageId& id, int from, Received message);
  void put_collective(const CollectiveId& id, const Span& span);
  void put_vote(const VoteId& id, const Ballot& result, const Span& span);

  // Wait for an item and take it; nullopt once `deadline` has passed. Time
  // during which the process was stopped does not count. Throw AbortedError.
  std::optional<Received> take_message(const MessageId& id, int from,
                                       Clock::time_point deadline);
  std::optional<Span> take_collective(const CollectiveId& id,
                                      Clock::time_point deadline);
  std::optional<CountedVote> take_vote(const VoteId& id,
                                       Clock::time_point deadline);

  // Wakes the rank; its waits throw from now on. Only the first reason counts.
  void abort(const std::string& reason);

 private:
  struct Message {
    MessageId id;
    int from;
    Received content;

    [[nodiscard]] const Span& span() const { return content.span; }
  };
  struct Collective {
    CollectiveId id;
    Span content;

    [[nodiscard]] const Span& span() const { return content; }
  };
  struct Vote {
    VoteId id;
    CountedVote content;
    Span under_way;

    [[nodiscard]] const Span& span() const { return under_way; }
  };

  template <class Item, class Matches>
  auto take(std::vector<Item>& items, const Matches& matches,
            Clock::time_point deadline)
      -> std::optional<decltype(Item::content)>;
  template <class Item>
  void put(std::vector<Item>& items, Item item);

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_. Few items wait here at once, so a linear search is short
  // and nothing is allocated once the vectors have grown.
  std::vector<Message> messages_;
  std::vector<Collective> collectives_;
  std::vector<Vote> votes_;
  std::optional<std::string> aborted_;
};

}  // namespace chimera
