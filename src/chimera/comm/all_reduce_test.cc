// Plays the rounds of all members in one process and compares the sums with
// those of the tree.
#include "chimera/comm/all_reduce.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "chimera/comm/sum_tree.h"

namespace chimera {
namespace {

using Numbers = std::vector<float>;

std::vector<Numbers> random_numbers(int members, std::size_t count) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> any(-1e3F, 1e3F);
  std::vector<Numbers> numbers(members, Numbers(count));
  for (Numbers& of_member : numbers) {
    for (float& number : of_member) number = any(random);
  }
  return numbers;
}

Numbers by_tree(std::vector<Numbers> numbers) {
  for_each_join(static_cast<int>(numbers.size()), [&](int into, int from) {
    for (std::size_t i = 0; i < numbers[into].size(); ++i) {
      numbers[into][i] += numbers[from][i];
    }
  });
  return numbers[0];
}

// Runs whichever member can go on, until none has rounds left. A round can be
// run once the peer stands at the round that mirrors it.
void play(std::vector<Numbers>& numbers) {
  const int members = static_cast<int>(numbers.size());
  std::vector<std::vector<AllReduceRound>> rounds(members);
  std::vector<std::size_t> at(members, 0);
  for (int member = 0; member < members; ++member) {
    rounds[member] = all_reduce_rounds(member, members, {0, numbers[0].size()});
  }
  const auto left = [&](int member) {
    return at[member] < rounds[member].size();
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (int member = 0; member < members; ++member) {
      if (!left(member)) continue;
      const AllReduceRound mine = rounds[member][at[member]];
      if (!left(mine.peer)) continue;
      const AllReduceRound theirs = rounds[mine.peer][at[mine.peer]];
      if (theirs.peer != member) continue;
      ASSERT_EQ(mine.send, theirs.receive);
      ASSERT_EQ(mine.receive, theirs.send);
      const Numbers before = numbers[member];
      const auto take = [](Numbers& into, const Numbers& from,
                           const AllReduceRound& round) {
        for (std::size_t i = round.receive.begin; i < round.receive.end; ++i) {
          into[i] = round.adds ? into[i] + from[i] : from[i];
        }
      };
      take(numbers[member], numbers[mine.peer], mine);
      take(numbers[mine.peer], before, theirs);
      ++at[member];
      ++at[mine.peer];
      moved = true;
    }
  }
  for (int member = 0; member < members; ++member) {
    ASSERT_FALSE(left(member)) << "member " << member << " is stuck";
  }
}

TEST(SumRounds, EveryMemberEndsWithTheTreesBits) {
  for (int members = 1; members <= 17; ++members) {
    for (const std::size_t count : {0, 1, 2, 3, 15, 16, 1000}) {
      SCOPED_TRACE(testing::Message() << members << " members, " << count);
      std::vector<Numbers> numbers = random_numbers(members, count);
      const Numbers expected = by_tree(numbers);
      play(numbers);
      for (const Numbers& result : numbers) EXPECT_EQ(result, expected);
    }
  }
}

// With a power of two of members, r, each member sends 2 (r-1)/r of the
// numbers.
TEST(SumRounds, MovesWhatRabenseifnerSays) {
  for (const int members : {2, 4, 8, 16}) {
    constexpr std::size_t kCount = 1600;
    std::size_t sent = 0;
    for (const AllReduceRound& round :
         all_reduce_rounds(1, members, {0, kCount})) {
      sent += round.send.size();
    }
    EXPECT_EQ(sent, 2 * kCount * (members - 1) / members);
  }
}

}  // namespace
}  // namespace chimera
