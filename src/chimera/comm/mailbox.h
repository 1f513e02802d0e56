// Where one rank of a ThreadsWorld finds what others have left for it:
// messages, complete collectives, results of votes. Others put, only the rank
// itself takes. Waiting sleeps.
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
  // An item with an end in the future cannot be taken before then.
  void put_message(const MessageId& id, int from, Received message);
  void put_collective(const CollectiveId& id, const Span& span);
  void put_vote(int step, const Ballot& result, const Span& span);

  // Each waits; nullopt once `deadline` has passed without the item. Time for
  // which the process was stopped does not count. Throws AbortedError.
  std::optional<Received> take_message(const MessageId& id, int from,
                                       Clock::time_point deadline);
  std::optional<Span> take_collective(const CollectiveId& id,
                                      Clock::time_point deadline);
  std::optional<Ballot> take_vote(int step, Clock::time_point deadline);

  // Wakes the rank; its waits throw from now on. Only the first one counts.
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
    int step;
    Ballot content;
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
  // Guarded by mutex_. Few items lie here at once, so a search is a short walk
  // and nothing is allocated once the vectors have grown.
  std::vector<Message> messages_;
  std::vector<Collective> collectives_;
  std::vector<Vote> votes_;
  std::optional<std::string> aborted_;
};

}  // namespace chimera
