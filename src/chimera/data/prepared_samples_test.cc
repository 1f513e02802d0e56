#include "chimera/data/prepared_samples.h"

#include <gtest/gtest.h>

#include "chimera/data/files_for_tests.h"

namespace chimera {
namespace {

using Ids = std::vector<std::int64_t>;

std::string line(const std::string& ids, const std::string& types,
                 const std::string& labels, const std::string& next) {
  return "{\"input_ids\": [" + ids + "], \"token_type_ids\": [" + types +
         "], \"labels\": [" + labels + "], \"next_sentence_label\": " + next +
         "}\n";
}

DataOptions options_for(const std::string& name, const std::string& content) {
  return {.paths = {make_file(name, content)},
          .kind = ModelKind::kBert,
          .order = SampleOrder::kSequential,
          .seq = 4,
          .vocab = 10,
          .global_batch = 3};
}

TEST(PreparedSamples, AreUsedAsTheyAre) {
  const auto source = opened(options_for(
      "a.jsonl", line("1,9,2,3", "0,0,0,1", "-100,5,-100,0", "1") + "\n" +
                     line("4,5,6,7", "0,0,1,1", "-100,-100,-100,-100", "0")));
  EXPECT_EQ(source->num_samples(), 2);
  EXPECT_EQ(source->num_tokens(), 8);
  const Batch batch = source->read(0, 0, 3);
  EXPECT_EQ(batch, (Batch{.samples = 3,
                          .seq = 4,
                          .sample_ids = {0, 1, 2},
                          .inputs = {1, 9, 2, 3, 4, 5, 6, 7, 1, 9, 2, 3},
                          .targets = {-100, 5, -100, 0, -100, -100, -100, -100,
                                      -100, 5, -100, 0},
                          .token_types = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1},
                          .next_sentence = {1, 0, 1}}));
  EXPECT_EQ(source->targets(0), (TargetCount{.tokens = 4, .samples = 3}));
}

std::string mistake(const std::string& content) {
  return mistakes_of(options_for("a.jsonl", content));
}

const char* const kGood = "0,0,1,1";

TEST(PreparedSamples, RefusesAWrongLength) {
  EXPECT_EQ(mistake(line("1,2,3", kGood, kGood, "0")),
            "error[E510] FILE:1: input_ids of 3 numbers must be as long as "
            "seq = 4; hint: prepare the file anew, or change model.seq");
  EXPECT_EQ(mistake(line(kGood, kGood, "1,2,3,4,5", "0")),
            "error[E510] FILE:1: labels of 5 numbers must be as long as seq = "
            "4; hint: prepare the file anew, or change model.seq");
}

TEST(PreparedSamples, RefusesNumbersOutOfRange) {
  const std::string good = line(kGood, kGood, kGood, "0");
  EXPECT_EQ(mistake(good), "");
  EXPECT_EQ(mistake(good + line("1,2,10,3", kGood, kGood, "0")),
            "error[E511] FILE:2: 10 in input_ids must be 0 to 9");
  EXPECT_EQ(mistake(line(kGood, "0,0,2,1", kGood, "0")),
            "error[E511] FILE:1: 2 in token_type_ids must be 0 to 1");
  EXPECT_EQ(mistake(line(kGood, kGood, "0,-1,0,0", "0")),
            "error[E511] FILE:1: -1 in labels must be 0 to 9 or -100");
  EXPECT_EQ(mistake(line(kGood, kGood, kGood, "2")),
            "error[E511] FILE:1: 2 in next_sentence_label must be 0 to 1");
  EXPECT_EQ(mistake(line("99999999999,1,1,1", kGood, kGood, "0")),
            "error[E511] FILE:1: input_ids = 99999999999 is out of range");
}

TEST(PreparedSamples, TokenTypesAreThoseOfTheModel) {
  DataOptions options =
      options_for("a.jsonl", line(kGood, "0,2,199,1", kGood, "0"));
  options.type_vocab = 200;  // more types than a signed byte can hold
  EXPECT_EQ(opened(options)->read(0, 0, 1).token_types, (Ids{0, 2, 199, 1}));
  options.type_vocab = 199;
  EXPECT_EQ(mistakes_of(options),
            "error[E511] FILE:1: 199 in token_type_ids must be 0 to 198");
  options = options_for("b.jsonl", line(kGood, kGood, kGood, "0"));
  options.type_vocab = 1;
  EXPECT_EQ(mistakes_of(options),
            "error[E511] FILE:1: 1 in token_type_ids must be 0");
}

TEST(PreparedSamples, PaddingHasNoLabelsAndStandsBehindTheText) {
  const auto padded = [](const std::string& labels, const std::string& mask) {
    std::string text = line(kGood, kGood, labels, "0");
    return text.insert(1, "\"attention_mask\": " + mask + ", ");
  };
  EXPECT_EQ(mistake(padded("1, 0, -100, -100", "[1, 1, 1, 0]")), "");
  const std::string hint =
      " must be 1 at the first position and at every label; hint: padding "
      "stands behind the text, with labels of -100";
  EXPECT_EQ(mistake(padded("1, 0, -100, 1", "[1, 1, 1, 0]")),
            "error[E511] FILE:1: attention_mask 0 at 3" + hint);
  EXPECT_EQ(mistake(padded("-100, 0, 1, 1", "[0, 1, 1, 1]")),
            "error[E511] FILE:1: attention_mask 0 at 0" + hint);
  EXPECT_EQ(mistake(padded(kGood, "[1, 1, 2, 1]")),
            "error[E511] FILE:1: 2 in attention_mask must be 0 to 1");
}

TEST(PreparedSamples, RefusesWhatIsMissingOrNoNumber) {
  const std::string hint =
      "; hint: a prepared line has input_ids, token_type_ids, labels and "
      "next_sentence_label";
  EXPECT_EQ(mistake("{\"input_ids\": [1, 2, 3, 4]}\n"),
            "error[E509] FILE:1: a prepared line without \"token_type_ids\" "
            "is not a sample" +
                hint);
  EXPECT_EQ(mistake(line(kGood, kGood, kGood, "0") + "{\"text\": \"x\"}\n"),
            "error[E509] FILE:2: a prepared line without \"input_ids\" is not "
            "a sample" +
                hint);
  EXPECT_EQ(mistake(line("1,\"2\",3,4", kGood, kGood, "0")),
            "error[E508] FILE:1: input_ids = a string must be a whole number");
  EXPECT_EQ(mistake("{\"input_ids\": [1, 2\n"),
            "error[E507] FILE:1: the end of the text must be , or ]");
}

TEST(PreparedSamples, AreNotForGpt2) {
  DataOptions options = options_for("a.jsonl", line(kGood, kGood, kGood, "0"));
  options.kind = ModelKind::kGpt2;
  EXPECT_EQ(mistakes_of(options),
            "error[E509] FILE:1: a line without \"text\" cannot be tokenized; "
            "hint: write {\"text\": \"...\"}");
}

}  // namespace
}  // namespace chimera
