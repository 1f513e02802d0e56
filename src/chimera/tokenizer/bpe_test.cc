#include "chimera/tokenizer/bpe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace chimera {
namespace {

using testing::ElementsAre;

struct Toy {
  std::map<std::string, TokenId> vocabulary;
  std::vector<std::pair<std::string, std::string>> merges;

  // A vocabulary over the letters a, b, c whose merges join random tokens.
  static Toy random(int num_merges) {
    Toy toy;
    for (const char* letter : {"a", "b", "c"}) toy.add(letter);
    for (int i = 0; i < num_merges; ++i) {
      std::vector<std::string> tokens;
      for (const auto& [token, id] : toy.vocabulary) tokens.push_back(token);
      const std::string left = *rc::gen::elementOf(tokens);
      const std::string right = *rc::gen::elementOf(tokens);
      if (left.size() + right.size() > 12) continue;
      toy.merges.emplace_back(left, right);
      toy.add(left + right);
    }
    return toy;
  }
  void add(const std::string& token) {
    vocabulary.try_emplace(token, static_cast<TokenId>(vocabulary.size()));
  }
  [[nodiscard]] BpeModel model(UnknownBytes unknown = {}) const {
    std::array<std::optional<TokenId>, 256> bytes;
    for (const char letter : {'a', 'b', 'c'}) {
      bytes[static_cast<size_t>(letter)] = vocabulary.at({letter});
    }
    std::vector<Merge> numbered;
    for (const auto& [left, right] : merges) {
      numbered.push_back({vocabulary.at(left), vocabulary.at(right),
                          vocabulary.at(left + right)});
    }
    return {bytes, numbered, {}, unknown};
  }
};

// The definition, on strings: joins the best pair of all again and again.
std::vector<TokenId> by_definition(const Toy& toy, const std::string& word) {
  std::vector<std::string> parts;
  for (const char letter : word) parts.emplace_back(1, letter);
  std::map<std::pair<std::string, std::string>, size_t> ranks;
  for (size_t i = 0; i < toy.merges.size(); ++i) ranks[toy.merges[i]] = i;
  while (true) {
    size_t best = parts.size(), best_rank = toy.merges.size();
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = ranks.find({parts[i], parts[i + 1]});
      if (found == ranks.end() || found->second >= best_rank) continue;
      best = i;
      best_rank = found->second;
    }
    if (best == parts.size()) break;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  std::vector<TokenId> ids;
  for (const std::string& part : parts) ids.push_back(toy.vocabulary.at(part));
  return ids;
}

RC_GTEST_PROP(Bpe, MergesAsDefined, ()) {
  const Toy toy = Toy::random(*rc::gen::inRange(0, 30));
  // Covers both ways of merging: short words and long ones.
  const auto size = *rc::gen::inRange<std::size_t>(1, 150);
  const auto word =
      *rc::gen::container<std::string>(size, rc::gen::element('a', 'b', 'c'));
  std::vector<TokenId> ids;
  toy.model().encode(word, ids);
  RC_ASSERT(ids == by_definition(toy, word));
}

TEST(Bpe, UnknownBytes) {
  const Toy toy{.vocabulary = {{"a", 0}, {"b", 1}, {"c", 2}}};
  std::vector<TokenId> ids;
  toy.model().encode("axxb", ids);
  EXPECT_THAT(ids, ElementsAre(0, 1));
  ids.clear();
  toy.model({.id = 7}).encode("axxb", ids);
  EXPECT_THAT(ids, ElementsAre(0, 7, 7, 1));
  ids.clear();
  toy.model({.id = 7, .fuse = true}).encode("axxb", ids);
  EXPECT_THAT(ids, ElementsAre(0, 7, 1));
}

}  // namespace
}  // namespace chimera
