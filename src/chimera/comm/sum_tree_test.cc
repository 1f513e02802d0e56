#include "chimera/comm/sum_tree.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "chimera/comm/collective_job.h"

namespace chimera {
namespace {

std::string tree(int ranks) {
  std::vector<std::string> terms;
  for (int rank = 0; rank < ranks; ++rank) {
    terms.push_back(std::to_string(rank));
  }
  for_each_join(ranks, [&](int into, int from) {
    terms[into] = "(" + terms[into] + "+" + terms[from] + ")";
  });
  return terms[0];
}

TEST(SumTree, JoinsNeighboursAfterFolding) {
  EXPECT_EQ(tree(1), "0");
  EXPECT_EQ(tree(2), "(0+1)");
  EXPECT_EQ(tree(3), "((0+1)+2)");
  EXPECT_EQ(tree(4), "((0+1)+(2+3))");
  EXPECT_EQ(tree(6), "(((0+1)+(2+3))+(4+5))");
  EXPECT_EQ(tree(7), "(((0+1)+(2+3))+((4+5)+6))");
  EXPECT_EQ(tree(8), "(((0+1)+(2+3))+((4+5)+(6+7)))");
}

// Blocks may run in any order, and every element is added by the same tree.
TEST(SumTree, EveryElementOfEveryBlockIsAddedAlike) {
  constexpr std::size_t kCount = 100003;
  std::vector<std::vector<float>> numbers(3, std::vector<float>(kCount));
  std::vector<NumberBuffer> buffers;
  for (std::size_t rank = 0; rank < numbers.size(); ++rank) {
    for (std::size_t i = 0; i < kCount; ++i) {
      numbers[rank][i] = 0.1F * static_cast<float>(i * 7 + rank * 13);
    }
    buffers.push_back({numbers[rank].data(), kCount});
  }
  const std::vector<std::vector<float>> before = numbers;
  const CollectiveJob job(CollectiveId::Kind::kAllReduce, buffers);
  ASSERT_GT(job.num_blocks(), 1U);
  for (std::size_t block = job.num_blocks(); block-- > 0;) job.run_block(block);
  for (std::size_t i = 0; i < kCount; ++i) {
    const float expected = (before[0][i] + before[1][i]) + before[2][i];
    for (const std::vector<float>& rank : numbers) {
      ASSERT_EQ(rank[i], expected) << i;
    }
  }
}

TEST(SumTree, WhoeverNeedsItsShardOnlyGetsThatAndZeros) {
  constexpr std::size_t kCount = 100003;
  constexpr int kMembers = 3;
  std::vector<std::vector<float>> numbers;
  std::vector<NumberBuffer> buffers;
  for (int member = 0; member < kMembers; ++member) {
    numbers.emplace_back(kCount, static_cast<float>(1 + member));
  }
  for (std::vector<float>& member : numbers) {
    buffers.push_back({member.data(), kCount, NumberType::kFloat32, true});
  }
  const CollectiveJob job(CollectiveId::Kind::kAllReduce, buffers);
  for (std::size_t block = 0; block < job.num_blocks(); ++block) {
    job.run_block(block);
  }
  for (int member = 0; member < kMembers; ++member) {
    const Shard own = shard_of(kCount, member, kMembers);
    for (std::size_t i = 0; i < kCount; ++i) {
      const bool is_own = own.begin <= i && i < own.end;
      ASSERT_EQ(numbers[member][i], is_own ? 6.0F : 0.0F) << i;
    }
  }
}

TEST(Shards, CoverEverythingInWholeGrains) {
  for (const std::size_t count : {0, 1, 16, 17, 1000, 12345}) {
    for (const int members : {1, 2, 3, 8}) {
      std::size_t edge = 0;
      for (int member = 0; member < members; ++member) {
        const Shard shard = shard_of(count, member, members);
        EXPECT_EQ(shard.begin, edge);
        EXPECT_TRUE(shard.begin % kShardGrain == 0 || shard.begin == count);
        edge = shard.end;
      }
      EXPECT_EQ(edge, count);
    }
  }
}

TEST(Gather, EveryMemberGetsEachOthersShard) {
  constexpr std::size_t kCount = 100000;
  std::vector<std::vector<double>> numbers;
  std::vector<NumberBuffer> buffers;
  for (int rank = 0; rank < 3; ++rank) {
    numbers.emplace_back(kCount, rank);
  }
  for (std::vector<double>& rank : numbers) {
    buffers.push_back({rank.data(), kCount, NumberType::kFloat64});
  }
  const CollectiveJob job(CollectiveId::Kind::kAllGather, buffers);
  for (std::size_t block = 0; block < job.num_blocks(); ++block) {
    job.run_block(block);
  }
  for (int owner = 0; owner < 3; ++owner) {
    const Shard shard = shard_of(kCount, owner, 3);
    for (std::size_t i = shard.begin; i < shard.end; ++i) {
      for (const std::vector<double>& rank : numbers) {
        ASSERT_EQ(rank[i], owner);
      }
    }
  }
}

}  // namespace
}  // namespace chimera
