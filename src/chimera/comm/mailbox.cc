#include "chimera/comm/mailbox.h"

#include <algorithm>
#include <utility>

#include "chimera/comm/comm_error.h"

namespace chimera {
namespace {

// Longest sleep before checking whether the process was stopped meanwhile.
constexpr Clock::duration kLongestSleep = std::chrono::milliseconds(500);
constexpr Clock::duration kStopped = std::chrono::seconds(1);

}  // namespace

template <class Item>
void Mailbox::put(std::vector<Item>& items, Item item) {
  {
    const std::lock_guard lock(mutex_);
    items.push_back(std::move(item));
  }
  changed_.notify_one();
}

template <class Item, class Matches>
auto Mailbox::take(std::vector<Item>& items, const Matches& matches,
                   Clock::time_point deadline)
    -> std::optional<decltype(Item::content)> {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (aborted_) throw AbortedError(*aborted_);
    const Clock::time_point now = Clock::now();
    const auto item = std::find_if(items.begin(), items.end(), matches);
    // Leaves an item until its arrival time: in emulated runs links are slower
    // than memory.
    if (item != items.end() && item->span().end <= now) {
      decltype(Item::content) content = std::move(item->content);
      items.erase(item);  // keeps the order of the other items
      return content;
    }
    if (now >= deadline) return std::nullopt;
    Clock::time_point until = std::min(deadline, now + kLongestSleep);
    if (item != items.end()) until = std::min(until, item->span().end);
    changed_.wait_until(lock, until);
    // A wake-up far too late means that the process was stopped or its host
    // asleep. That time does not count against the deadline.
    const Clock::duration late = Clock::now() - until;
    if (late > kStopped) deadline += late;
  }
}

void Mailbox::put_message(const MessageId& id, int from, Received message) {
  put(messages_, Message{id, from, std::move(message)});
}

void Mailbox::put_collective(const CollectiveId& id, const Span& span) {
  put(collectives_, Collective{id, span});
}

void Mailbox::put_vote(const VoteId& id, const Ballot& result,
                       const Span& span) {
  put(votes_, Vote{id, {result, span.end}, span});
}

std::optional<Received> Mailbox::take_message(const MessageId& id, int from,
                                              Clock::time_point deadline) {
  const auto matches = [&](const Message& message) {
    return message.id == id && message.from == from;
  };
  return take(messages_, matches, deadline);
}

std::optional<Span> Mailbox::take_collective(const CollectiveId& id,
                                             Clock::time_point deadline) {
  const auto matches = [&](const Collective& collective) {
    return collective.id == id;
  };
  return take(collectives_, matches, deadline);
}

std::optional<CountedVote> Mailbox::take_vote(const VoteId& id,
                                              Clock::time_point deadline) {
  const auto matches = [&](const Vote& vote) { return vote.id == id; };
  return take(votes_, matches, deadline);
}

void Mailbox::abort(const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (!aborted_) aborted_ = reason;
  }
  changed_.notify_one();
}

}  // namespace chimera
