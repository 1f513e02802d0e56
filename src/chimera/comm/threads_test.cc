// Ranks as threads, sizes 1, 2, 4 and 7.
#include "chimera/comm/threads.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "chimera/base/check.h"
#include "chimera/comm/comm_error.h"

namespace chimera {
namespace {

using std::chrono::milliseconds;

class Numbers final : public Payload {
 public:
  explicit Numbers(std::vector<int> v) : values(std::move(v)) {}
  std::span<std::byte> bytes() override {
    return std::as_writable_bytes(std::span(values));
  }
  std::vector<int> values;
};

std::vector<int>& values(const PayloadPtr& payload) {
  return dynamic_cast<Numbers&>(*payload).values;
}

template <class Body>
void on_ranks(ThreadsWorld& world, int ranks, const Body& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] { body(world.at(rank)); });
  }
  for (std::thread& thread : threads) thread.join();
}

class Threads : public testing::TestWithParam<int> {};

TEST_P(Threads, MessagesFindTheirReceiversWhateverTheOrder) {
  const int ranks = GetParam();
  constexpr int kMessages = 50;
  ThreadsWorld world({.ranks = ranks});
  on_ranks(world, ranks, [&](Transport& me) {
    const int next = (me.rank() + 1) % ranks;
    const int previous = (me.rank() + ranks - 1) % ranks;
    for (int i = 0; i < kMessages; ++i) {
      me.post_receive({i, 3}, previous, nullptr);
      me.send({i, 3}, next,
              std::make_unique<Numbers>(std::vector<int>{me.rank(), i}));
    }
    for (int i = kMessages; i-- > 0;) {
      const Received received = me.receive({i, 3}, previous);
      EXPECT_EQ(values(received.payload), (std::vector<int>{previous, i}));
      EXPECT_LE(received.span.start, received.span.end);
    }
  });
}

TEST(ThreadsWorld, APayloadIsHandedOverWithoutACopy) {
  ThreadsWorld world({.ranks = 2});
  auto sent = std::make_unique<Numbers>(std::vector<int>{1, 2, 3});
  const int* address = sent->values.data();
  world.at(0).send({7, 0}, 1, std::move(sent));
  const Received received = world.at(1).receive({7, 0}, 0);
  EXPECT_EQ(values(received.payload).data(), address);
}

// Small and large sums, under way together, started in one order.
TEST_P(Threads, SumsAddUpOnEveryMember) {
  const int ranks = GetParam();
  const std::vector<std::size_t> counts = {0, 1, 1000, 300000};
  std::vector<int> members(ranks);
  std::iota(members.begin(), members.end(), 0);
  ThreadsWorld world({.ranks = ranks});
  on_ranks(world, ranks, [&](Transport& me) {
    std::vector<std::vector<float>> numbers;
    for (const std::size_t count : counts) {
      numbers.emplace_back(count, static_cast<float>(me.rank() + 1));
    }
    for (int group = 0; group < static_cast<int>(counts.size()); ++group) {
      me.start_collective({.group = group}, members,
                          {numbers[group].data(), counts[group]});
    }
    for (int group = static_cast<int>(counts.size()); group-- > 0;) {
      me.wait_collective({.group = group});
      const auto expected = static_cast<float>(ranks * (ranks + 1) / 2);
      EXPECT_EQ(numbers[group], std::vector<float>(counts[group], expected));
    }
  });
}

TEST_P(Threads, AllReadTheSameVote) {
  const int ranks = GetParam();
  ThreadsWorld world({.ranks = ranks});
  on_ranks(world, ranks, [&](Transport& me) {
    for (int step = 0; step < 20; ++step) {
      Ballot ballot{.loss = 1.0 + me.rank()};
      if (me.rank() == step % ranks) ballot.bad_at = step;
      me.start_vote({step}, ballot);
      const Ballot result = me.wait_vote({step}).ballot;
      EXPECT_EQ(result.loss, ranks * (ranks + 1) / 2.0);
      EXPECT_EQ(result.bad_at, step);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, Threads, testing::Values(1, 2, 4, 7));

TEST(ThreadsWorld, AMissedDeadlineNamesThePeer) {
  ThreadsWorld world({.ranks = 3, .deadline = milliseconds(20)});
  const std::vector<int> members = {0, 1, 2};
  float number = 1;
  Transport& me = world.at(0);
  const auto peer_of = [](const auto& wait) {
    try {
      wait();
    } catch (const TimeoutError& error) {
      return error.peer();
    }
    return -2;
  };
  EXPECT_EQ(peer_of([&] { (void)me.receive({0, 0}, 2); }), 2);
  me.start_collective({}, members, {&number, 1});
  world.at(1).start_collective({}, members, {&number, 1});
  EXPECT_EQ(peer_of([&] { (void)me.wait_collective({}); }), 2);
  me.start_vote({}, {});
  EXPECT_EQ(peer_of([&] { (void)me.wait_vote({}); }), 1);
}

TEST(ThreadsWorld, AbortWakesEveryWaiterAtOnce) {
  constexpr int kRanks = 4;
  ThreadsWorld world({.ranks = kRanks});
  const std::vector<int> members = {0, 1, 2, 3};
  std::vector<float> numbers(kRanks);
  on_ranks(world, kRanks, [&](Transport& me) {
    try {
      switch (me.rank()) {
        case 0:
          (void)me.receive({1, 1}, 3);
          break;
        case 1:
          me.start_collective({}, members, {&numbers[1], 1});
          me.wait_collective({});
          break;
        case 2:
          me.start_vote({}, {});
          (void)me.wait_vote({});
          break;
        default:
          me.abort("disk on fire");
          (void)me.receive({1, 1}, 0);
      }
      ADD_FAILURE() << "rank " << me.rank() << " was not woken";
    } catch (const AbortedError& error) {
      EXPECT_STREQ(error.what(), "disk on fire");
    }
  });
}

// A collective whose members contradict each other is our own mistake, and must
// end the run all the same.
TEST(ThreadsWorld, AbortDoesNotWaitForACollectiveThatNeverBegan) {
  // Shared with the thread, which a failure of this test leaves behind.
  const auto world = std::make_shared<ThreadsWorld>(ThreadsOptions{.ranks = 2});
  const std::vector<int> members = {0, 1};
  std::vector<float> numbers(3);
  world->at(0).start_collective({}, members, {&numbers[0], 1});
  EXPECT_THROW(world->at(1).start_collective({}, members, {&numbers[1], 2}),
               InternalError);
  std::promise<void> aborted;
  std::future<void> end = aborted.get_future();
  std::thread([world, aborted = std::move(aborted)]() mutable {
    world->at(1).abort("members differ");
    aborted.set_value();
  }).detach();
  EXPECT_EQ(end.wait_for(std::chrono::seconds(10)), std::future_status::ready);
}

TEST(ThreadsWorld, ProgressOfOthersIsSeen) {
  ThreadsWorld world({.ranks = 2});
  EXPECT_EQ(world.at(0).progress_of(1), 0U);
  world.at(1).report_progress(42);
  EXPECT_EQ(world.at(0).progress_of(1), 42U);
}

// Links with a latency of 20 ms where a byte takes 1 ms; sums take 40 ms.
class SlowLinks final : public LinkTimes {
 public:
  [[nodiscard]] Message message(int /*from*/, int /*to*/,
                                std::size_t bytes) const override {
    return {.occupied = 0.001 * static_cast<double>(bytes), .latency = 0.02};
  }
  [[nodiscard]] double all_reduce(std::span<const int> /*members*/,
                                  std::size_t /*bytes*/) const override {
    return 0.04;
  }
  [[nodiscard]] double vote() const override { return 0.02; }
};

// Two messages of 40 ms share a link one after the other; latency is added to
// each and does not occupy the link.
TEST(ThreadsWorld, SlowLinksDelayArrival) {
  ThreadsWorld world({.ranks = 2, .links = std::make_shared<SlowLinks>()});
  const auto ten_bytes = [] {
    return std::make_unique<Numbers>(std::vector<int>(10));  // 40 bytes
  };
  world.at(0).send({0, 0}, 1, ten_bytes());
  world.at(0).send({1, 0}, 1, ten_bytes());
  const Span first = world.at(1).receive({0, 0}, 0).span;
  const Span second = world.at(1).receive({1, 0}, 0).span;
  EXPECT_EQ(first.end - first.start, milliseconds(60));
  EXPECT_EQ(second.start, first.start + milliseconds(40));
  EXPECT_EQ(second.end - second.start, milliseconds(60));
  EXPECT_GE(Clock::now(), second.end);
}

// Sums use the links between their members: two of one pair run one after the
// other, also those of pairs in opposite order, and so does a message; a sum
// that shares one member with another does not wait for it.
TEST(LinkClock, SumsOccupyTheLinksBetweenTheirMembers) {
  LinkClock links(std::make_shared<SlowLinks>(), 3);
  const std::vector<int> pair = {0, 1};
  const std::vector<int> overlapping = {0, 2};
  const Span first = links.all_reduce(pair, 4);
  EXPECT_EQ(first.end - first.start, milliseconds(40));
  EXPECT_EQ(links.all_reduce(pair, 4).start, first.end);
  EXPECT_LT(links.all_reduce(overlapping, 4).start, first.end);
  EXPECT_EQ(links.message(1, 0, 1).start, first.end + milliseconds(40));
}

}  // namespace
}  // namespace chimera
