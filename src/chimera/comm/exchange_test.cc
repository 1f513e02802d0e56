#include "chimera/comm/exchange.h"

#include <gtest/gtest.h>

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
    const auto all = gather_values(transport, mine, 7);
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
    EXPECT_EQ(spread_text(transport, std::move(ready),
                          std::chrono::milliseconds(5), 7),
              text);
  });
}

}  // namespace
}  // namespace chimera
