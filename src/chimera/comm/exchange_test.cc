#include "chimera/comm/exchange.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "chimera/comm/threads.h"

namespace chimera {
namespace {

// Runs `body` on a thread of each rank.
template <class Body>
void on_all_ranks(int ranks, const Body& body) {
  ThreadsWorld world({.ranks = ranks});
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] { body(world.at(rank)); });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Gather, BringsEveryRanksValuesToRankZero) {
  on_all_ranks(3, [](Transport& transport) {
    const std::vector<int> mine(transport.rank(), transport.rank());
    const auto all = gather_values(transport, mine, {.step = 7});
    if (transport.rank() != 0) {
      EXPECT_TRUE(all.empty());
      return;
    }
    EXPECT_EQ(all, (std::vector<std::vector<int>>{{}, {1}, {2, 2}}));
  });
}

TEST(Gather, AValueMayComeLongAfterTheDeadline) {
  ThreadsWorld world({.ranks = 2, .deadline = std::chrono::milliseconds(10)});
  const MessageId id{0, 7};
  std::thread sender([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    world.at(1).send(id, 0, to_payload(42));
  });
  int late = 0;
  EXPECT_EQ(receive_value<int>(world.at(0), id, 1, [&] { ++late; }), 42);
  EXPECT_GE(late, 1);
  sender.join();
}

TEST(Gather, SpreadsATextToAllRanks) {
  const std::string text = "a text that does not fit into a short string";
  on_all_ranks(3, [&](Transport& transport) {
    std::future<std::string> ready;
    if (transport.rank() == 0) {
      ready = std::async(std::launch::async, [&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return text;
      });
    }
    EXPECT_EQ(broadcast_text(transport, std::move(ready),
                             std::chrono::milliseconds(5), {.step = 7}),
              text);
  });
}

TEST(Broadcast, BringsRankZerosValueToAll) {
  on_all_ranks(3, [](Transport& transport) {
    EXPECT_EQ(broadcast_value(transport, 10 + transport.rank(), {}), 10);
  });
}

TEST(Agree, CombinesInRankOrderAndWaitsForLateRanks) {
  ThreadsWorld world({.ranks = 3, .deadline = std::chrono::milliseconds(10)});
  std::vector<std::thread> threads;
  std::vector<std::string> results(3);
  std::atomic<int> late = -1;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      if (rank == 2) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
      const auto append = [](int all, int next) { return 10 * all + next; };
      results[rank] = std::to_string(agree(world.at(rank), rank + 1, {}, append,
                                           [&](int who) { late = who; }));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results, std::vector<std::string>(3, "123"));
  EXPECT_EQ(late, 2);
}

// An evaluation's messages have the same ids as those of training, but another
// channel.
TEST(Channel, KeepsEqualIdsApart) {
  ThreadsWorld world({.ranks = 2});
  world.at(1).send({.channel = Channel::kEvaluation}, 0, to_payload(2));
  world.at(1).send({}, 0, to_payload(1));
  const auto value = [&](const MessageId& id) {
    return receive_value<int>(world.at(0), id, 1, [] {});
  };
  EXPECT_EQ(value({}), 1);
  EXPECT_EQ(value({.channel = Channel::kEvaluation}), 2);
}

}  // namespace
}  // namespace chimera
