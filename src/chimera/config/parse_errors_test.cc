// The exact messages for each mistake in a run.toml.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chimera/config/parse.h"

namespace chimera {
namespace {

using testing::ElementsAre;

using Lines = std::vector<std::string>;

Lines lines_of(const Result<RunConfig>& result) {
  Lines lines;
  if (result) return lines;
  for (const Diagnostic& error : result.errors()) {
    lines.push_back(to_string(error).substr(6));  // without "error["
  }
  return lines;
}

Lines errors(const std::string& text, const Lines& overrides = {}) {
  return lines_of(parse_run_config(text, "run.toml", overrides));
}

// A correct model in lines 1 and 2; the text under test starts in line 3.
Lines errors_after_model(const std::string& text) {
  return errors("[model]\npreset = \"gpt2-tiny\"\n" + text);
}

// Like errors_after_model(), with a correct schedule in lines 3 to 6.
Lines errors_after_schedule(const std::string& text) {
  return errors_after_model(
      "[schedule]\ndepth = 4\nmicros = 4\nmicro_batch = 2\n" + text);
}

TEST(ParseErrors, SyntaxNamesTheLine) {
  EXPECT_THAT(errors_after_model("[train]\nlr = \n"),
              ElementsAre("E001] run.toml:4: \"lr =\" is not TOML (expected "
                          "value, saw '\\n'); hint: write a value after ="));
}

TEST(ParseErrors, EachKindOfSyntaxErrorHasItsOwnHint) {
  const auto hint = [](const std::string& line) {
    const Lines lines = errors_after_model("[train]\n" + line + "\n");
    return lines.size() == 1 ? lines[0].substr(lines[0].find("hint: ") + 6)
                             : testing::PrintToString(lines);
  };
  EXPECT_EQ(hint("decay = cosine # why not"),
            "text stands in quotes: decay = \"cosine\"");
  EXPECT_EQ(hint("path = /tmp/a"), "text stands in quotes: path = \"/tmp/a\"");
  EXPECT_EQ(hint("lr = 1\nlr = 2"), "every key and section stands once");
  EXPECT_EQ(hint("[data"), "a section reads [train]");
  EXPECT_EQ(hint("steps"), "a line reads key = value");
  EXPECT_EQ(hint("steps: 3"), "write = instead of :");
  EXPECT_EQ(hint("steps == 3"), "one = is enough");
  EXPECT_EQ(hint("decay = \"cosine"), "close the quotes on the same line");
  EXPECT_EQ(hint("path = \"C:\\data\""),
            "a backslash is written \\\\, or the text in single quotes");
  EXPECT_EQ(hint("betas = [0.9, 0.99\nlr = 1"), "close the list with ]");
  EXPECT_EQ(hint("lr = 1,5"),
            "a number reads 4, 0.5 or 3e-4, and a line has one key");
  EXPECT_EQ(hint("decay_all = True"),
            "true and false are written in small letters");
  EXPECT_EQ(hint("steps = 99999999999999999999"), "use a smaller number");
}

TEST(ParseErrors, NumbersTooLargeForAnInteger) {
  EXPECT_THAT(
      errors("", {"model.preset=gpt2-tiny", "train.steps=99999999999999999999",
                  "train.warmup=3000000000"}),
      ElementsAre("E008] --set train.steps=99999999999999999999: train.steps = "
                  "\"99999999999999999999\" is too large for an integer",
                  "E008] --set train.warmup=3000000000: train.warmup = "
                  "3000000000 must be at most 2147483647"));
}

TEST(ParseErrors, TypographicQuotes) {
  EXPECT_THAT(errors("[model]\npreset = \xe2\x80\x9cgpt2-tiny\xe2\x80\x9d\n"),
              ElementsAre("E001] run.toml:2: a character that is not ASCII "
                          "must stand in plain quotes; hint: typographic "
                          "quotes do not count, use \""));
}

TEST(ParseErrors, DuplicateKeysAreSyntaxErrors) {
  const Lines lines = errors_after_model("[train]\nlr = 1\n\nlr = 2\n");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], testing::StartsWith("E001] run.toml:6: "));
  EXPECT_THAT(lines[0], testing::HasSubstr("cannot redefine existing"));
}

TEST(ParseErrors, AnUnreadableFileDoesNotHideBadOverrides) {
  const Lines lines = errors("x\n", {"train.stpes=3"});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], testing::StartsWith("E001] run.toml:1: "));
  EXPECT_EQ(lines[1],
            "E005] --set train.stpes=3: train.stpes is not a key of [train]; "
            "hint: did you mean steps?");
}

TEST(ParseErrors, UnknownSection) {
  EXPECT_THAT(errors_after_model("[shcedule]\ndepth = 4\n"),
              ElementsAre("E004] run.toml:3: section [shcedule] must be one of "
                          "model, schedule, train, data, run; hint: did you "
                          "mean schedule?"));
}

TEST(ParseErrors, UnknownSectionThatIsEmpty) {
  const Lines lines = errors_after_model("[x]\n");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], testing::StartsWith("E004] run.toml:3: section [x]"));
}

TEST(ParseErrors, UnknownKey) {
  EXPECT_THAT(errors_after_schedule("dept = 4\n"),
              ElementsAre("E005] run.toml:7: schedule.dept is not a key of "
                          "[schedule]; hint: did you mean depth?"));
}

TEST(ParseErrors, KeyOfAnotherSection) {
  EXPECT_THAT(errors_after_model("[train]\nmicros = 4\n"),
              ElementsAre("E005] run.toml:4: train.micros is not a key of "
                          "[train]; hint: micros belongs to [schedule]"));
}

TEST(ParseErrors, KeyNearToNothingListsThemAll) {
  EXPECT_THAT(errors_after_model("[data]\nxyzzyxyzzy = 1\n"),
              ElementsAre("E005] run.toml:4: data.xyzzyxyzzy is not a key of "
                          "[data]; hint: known are path, eval_path, order, "
                          "tokenizer, token_type, eval_fraction, weights, "
                          "pack"));
}

TEST(ParseErrors, SectionInASection) {
  EXPECT_THAT(errors_after_model("[model.emulated]\nforward_ms = 1\n"),
              ElementsAre(testing::StartsWith(
                  "E005] run.toml:3: model.emulated is not a key of")));
}

TEST(ParseErrors, KeyOutsideOfEverySection) {
  EXPECT_THAT(errors("depth = 4\n[model]\npreset = \"gpt2-tiny\"\n"),
              ElementsAre("E006] run.toml:1: depth = 4 must stand below a "
                          "[section]; hint: depth belongs to [schedule]"));
}

TEST(ParseErrors, SectionNameUsedForAValue) {
  EXPECT_THAT(errors("train = 4\n[model]\npreset = \"gpt2-tiny\"\n"),
              ElementsAre("E006] run.toml:1: train = 4 must be a section; "
                          "hint: write [train]"));
  EXPECT_THAT(errors_after_model("[[train]]\nsteps = 1\n"),
              ElementsAre("E006] run.toml:3: train = [...] must be a section; "
                          "hint: write [train]"));
}

TEST(ParseErrors, WrongTypes) {
  EXPECT_THAT(
      errors_after_schedule("width = \"4\"\n"
                            "recompute = \"some\"\n"
                            "cap = true\n"
                            "cut = 3\n"
                            "file = 5\n"
                            "pipes = [2]\n"
                            "chunks = {a = 1}\n"
                            "shape = 2020-01-01\n"
                            "[train]\n"
                            "lr = \"1\"\n"
                            "betas = 0.9\n"
                            "steps = true\n"),
      ElementsAre(
          "E007] run.toml:7: schedule.width = \"4\" (a string) must be an "
          "integer; hint: write it without quotes",
          "E007] run.toml:8: schedule.recompute = \"some\" (a string) must be "
          "true, false or a number of layers",
          "E007] run.toml:9: schedule.cap = true (a boolean) must be a number",
          "E007] run.toml:10: schedule.cut = 3 (an integer) must be an array "
          "of integers",
          "E007] run.toml:11: schedule.file = 5 (an integer) must be a string; "
          "hint: write it in quotes",
          "E007] run.toml:12: schedule.pipes = [...] (an array) must be an "
          "integer",
          "E007] run.toml:13: schedule.chunks = ... (a table) must be an "
          "integer",
          "E007] run.toml:14: schedule.shape = ... (a date or time) must be a "
          "string",
          "E007] run.toml:16: train.lr = \"1\" (a string) must be a number; "
          "hint: write it without quotes",
          "E007] run.toml:17: train.betas = 0.9 (a float) must be an array of "
          "2 numbers",
          "E007] run.toml:18: train.steps = true (a boolean) must be an "
          "integer"));
}

TEST(ParseErrors, WrongTypeInsideAList) {
  EXPECT_THAT(errors_after_schedule("cut = [0, \"2\"]\n"),
              ElementsAre("E007] run.toml:7: schedule.cut[1] = \"2\" (a "
                          "string) must be an integer; hint: write it without "
                          "quotes"));
}

TEST(ParseErrors, OutOfRange) {
  EXPECT_THAT(
      errors_after_schedule("width = 0\n"
                            "pipes = 1000001\n"
                            "cut = [0, -1]\n"
                            "replan_after = 2147483648\n"
                            "cap = -9223372036854775808\n"
                            "[train]\n"
                            "betas = [0.9, 1.0]\n"
                            "eps = 0\n"
                            "lr = nan\n"
                            "clip = inf\n"
                            "momentum = 1\n"
                            "weight_decay = -0.1\n"
                            "seed = -1\n"
                            "[run]\n"
                            "timeout_s = 0\n"
                            "keep = 0\n"),
      ElementsAre(
          "E008] run.toml:7: schedule.width = 0 must be at least 1",
          "E008] run.toml:8: schedule.pipes = 1000001 must be at most 1000000",
          "E008] run.toml:9: schedule.cut[1] = -1 must be at least 0",
          "E008] run.toml:10: schedule.replan_after = 2147483648 must be at "
          "most 2147483647",
          "E008] run.toml:11: schedule.cap = -9223372036854775808 must be at "
          "least 1",
          "E008] run.toml:13: train.betas[1] = 1.0 must be below 1",
          "E008] run.toml:14: train.eps = 0 must be above 0",
          "E008] run.toml:15: train.lr = nan must be a finite number",
          "E008] run.toml:16: train.clip = inf must be a finite number",
          "E008] run.toml:17: train.momentum = 1 must be below 1",
          "E008] run.toml:18: train.weight_decay = -0.1 must be at least 0",
          "E008] run.toml:19: train.seed = -1 must be at least 0",
          "E008] run.toml:21: run.timeout_s = 0 must be above 0",
          "E008] run.toml:22: run.keep = 0 must be at least 1"));
}

TEST(ParseErrors, DropoutIsAFractionBelowOne) {
  EXPECT_THAT(errors_after_model("dropout = 1.0\n"),
              ElementsAre("E008] run.toml:3: model.dropout = 1.0 must be below "
                          "1"));
}

TEST(ParseErrors, NotOneOfTheNames) {
  EXPECT_THAT(
      errors_after_schedule("scale = \"doublin\"\n"
                            "shape = \"\"\n"
                            "sync = \"\"\n"
                            "[train]\n"
                            "optimizer = \"adamW\"\n"),
      ElementsAre("E009] run.toml:7: schedule.scale = \"doublin\" must be one "
                  "of direct, doubling, halving; hint: did you mean doubling?",
                  "E009] run.toml:8: schedule.shape = \"\" must be one of "
                  "linear, loop, vee, wave",
                  "E009] run.toml:9: schedule.sync = \"\" must be one of "
                  "eager-opt, eager, end, ddp, blocking",
                  "E009] run.toml:11: train.optimizer = \"adamW\" must be one "
                  "of adamw, adam, sgd; hint: did you mean adamw?"));
}

TEST(ParseErrors, HalfPrecisionIsRefusedWithTheReason) {
  EXPECT_THAT(errors_after_schedule("[train]\nprecision = \"fp16\"\n"),
              ElementsAre(testing::HasSubstr(
                  "train.precision = \"fp16\" must be one of float32, bf16; "
                  "hint: fp16 cannot hold small gradients")));
}

TEST(ParseErrors, UnknownPresetHidesNothingButWhatItWouldGive) {
  EXPECT_THAT(errors("[model]\npreset = \"gpt2-tin\"\nheads = 0\n"),
              ElementsAre("E009] run.toml:2: model.preset = \"gpt2-tin\" must "
                          "be one of bert-48, gpt2-64, gpt2-32, gpt2-small, "
                          "bert-base, gpt2-tiny, bert-tiny, llama-tiny, "
                          "llama-1b, llama-8b; hint: did you mean gpt2-tiny?",
                          "E008] run.toml:3: model.heads = 0 must be at least "
                          "1"));
}

TEST(ParseErrors, ListLengths) {
  EXPECT_THAT(
      errors_after_model("[train]\nbetas = [0.9]\n"),
      ElementsAre("E010] run.toml:4: length of train.betas = 1 must be 2"));
}

TEST(ParseErrors, NullCharacterInAText) {
  EXPECT_THAT(errors_after_model("[data]\npath = \"a\\u0000b\"\n"),
              ElementsAre("E011] run.toml:4: data.path = \"a?b\" must not hold "
                          "a null character"));
}

TEST(ParseErrors, Overrides) {
  EXPECT_THAT(
      errors("[model]\npreset = \"gpt2-tiny\"\n",
             {"depth=4", "nonsense", "=3", "trian.lr=1", "train.lrr=1",
              "train.lr=fast", "run.dir=5", "run.dir.x=1"}),
      ElementsAre(
          "E003] --set depth=4: the override must read section.key=value; "
          "hint: did you mean schedule.depth?",
          "E003] --set nonsense: the override must read section.key=value; "
          "hint: for example --set train.steps=100",
          "E003] --set =3: the override must read section.key=value; hint: for "
          "example --set train.steps=100",
          "E004] --set trian.lr=1: section [trian] must be one of model, "
          "schedule, train, data, run; hint: did you mean train?",
          "E005] --set train.lrr=1: train.lrr is not a key of [train]; hint: "
          "did you mean lr?",
          "E005] --set run.dir.x=1: run.dir.x is not a key of [run]; hint: "
          "did you mean dir?",
          "E007] --set train.lr=fast: train.lr = \"fast\" (a string) must be a "
          "number",
          "E007] --set run.dir=5: run.dir = 5 (an integer) must be a string; "
          "hint: write it in quotes"));
}

TEST(ParseErrors, ABadOverrideHidesTheFilesValue) {
  EXPECT_THAT(errors_after_model("[train]\nsteps = -1\n"),
              ElementsAre(testing::StartsWith("E008] run.toml:4")));
  EXPECT_THAT(errors("[model]\npreset = \"gpt2-tiny\"\n[train]\nsteps = -1\n",
                     {"train.steps=-2"}),
              ElementsAre("E008] --set train.steps=-2: train.steps = -2 must "
                          "be at least 1"));
}

TEST(ParseErrors, MissingKeys) {
  EXPECT_THAT(
      errors("[model]\nkind = \"gpt2\"\nhidden = 8\n[schedule]\nmicros = 2\n"),
      ElementsAre("E020] run.toml: model.layers is missing; "
                  "hint: set layers = ... below [model], or a preset",
                  "E020] run.toml: model.heads is missing; "
                  "hint: set heads = ... below [model], or a preset",
                  "E020] run.toml: model.vocab is missing; "
                  "hint: set vocab = ... below [model], or a preset",
                  "E020] run.toml: model.seq is missing; "
                  "hint: set seq = ... below [model], or a preset",
                  "E020] run.toml: schedule.depth is missing; hint: "
                  "set depth = 4 below [schedule]",
                  "E020] run.toml: schedule.micro_batch is missing; hint: "
                  "set micro_batch = 1 below [schedule]"));
}

TEST(ParseErrors, AnEmptyFileLacksAModel) {
  EXPECT_THAT(errors(""),
              ElementsAre("E020] run.toml: model.kind is missing; hint: "
                          "set kind = ... below [model], or a "
                          "preset"));
}

TEST(ParseErrors, EmulatedKeysAreMissing) {
  const Lines lines = errors("[model]\nkind = \"emulated\"\n");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0],
            "E020] run.toml: model.forward_ms is missing; "
            "hint: set forward_ms = ... below [model]");
}

TEST(ParseErrors, ForTrainingInOneListWithTheRest) {
  EXPECT_THAT(
      lines_of(parse_training_config(
          "[model]\npreset = \"gpt2-tiny\"\n[train]\nlr = \"x\"\nsteps = 1\n",
          "run.toml", {"schedule.depth=2"})),
      ElementsAre("E007] run.toml:4: train.lr = \"x\" (a string) must be a "
                  "number",
                  testing::HasSubstr("schedule.micros is missing"),
                  testing::HasSubstr("schedule.micro_batch is missing"),
                  testing::HasSubstr("data.path is missing")));
}

TEST(ParseErrors, AnEmptyPathIsNoPath) {
  EXPECT_THAT(
      lines_of(parse_training_config(
          "[model]\npreset = \"gpt2-tiny\"\n[data]\npath = \"\"\n", "run.toml",
          {"schedule.depth=2", "schedule.micros=2", "schedule.micro_batch=1",
           "train.steps=1", "train.lr=1"})),
      ElementsAre("E020] run.toml:4: data.path is missing; hint: "
                  "set path = \"a.txt\" below [data]"));
}

TEST(ParseErrors, AnUnknownKindIsNotAskedForARate) {
  EXPECT_THAT(lines_of(parse_training_config(
                  "[model]\nkind = \"emulatd\"\n[schedule]\ndepth = 2\n"
                  "micros = 2\nmicro_batch = 1\n",
                  "run.toml", {})),
              ElementsAre(testing::StartsWith("E009] run.toml:2: model.kind"),
                          testing::HasSubstr("train.steps is missing")));
}

TEST(ParseErrors, HeadsAndPositions) {
  EXPECT_THAT(errors_after_model("hidden = 66\nseq = 65\n"),
              ElementsAre("E021] run.toml:3: model.hidden = 66 must be a "
                          "multiple of model.heads = 4; hint: use 64 or 68",
                          "E022] run.toml:4: model.seq = 65 must be at most "
                          "model.positions = 64; hint: set model.positions = "
                          "65"));
  EXPECT_THAT(errors_after_model("heads = 100\n"),
              ElementsAre("E021] run.toml:3: model.hidden = 64 must be a "
                          "multiple of model.heads = 100; hint: use 100"));
}

TEST(ParseErrors, ARefusedValueIsAccusedOnce) {
  EXPECT_THAT(
      errors_after_model("hidden = 66\nheads = \"3\"\n"),
      ElementsAre(testing::StartsWith("E007] run.toml:4: model.heads")));
}

TEST(ParseErrors, AFileToGoOverToDoesNotSayTheFirstOrdersDepth) {
  const std::string text = "[schedule]\nmicro_batch = 2\nfile = \"a.sched\"\n";
  EXPECT_THAT(errors_after_model(text), ElementsAre());
  EXPECT_THAT(errors_after_model(text + "replan_after = 10\n"),
              ElementsAre(testing::HasSubstr("schedule.depth is missing"),
                          testing::HasSubstr("schedule.micros is missing")));
}

TEST(ParseErrors, HalvingNeedsAnEvenMicroBatch) {
  const std::string text = "[schedule]\ndepth = 4\nmicros = 8\nmicro_batch = ";
  EXPECT_THAT(errors_after_model(text + "3\nscale = \"halving\"\n"),
              ElementsAre("E023] run.toml:6: schedule.micro_batch = 3 must be "
                          "even, as schedule.scale = \"halving\" runs a "
                          "backward in two halves; hint: use 2 or 4"));
  EXPECT_THAT(errors_after_model(text + "4\nscale = \"halving\"\n"),
              ElementsAre());
  EXPECT_THAT(errors_after_model(text + "3\nscale = \"direct\"\n"),
              ElementsAre());
}

TEST(ParseErrors, RatesAndWarmup) {
  EXPECT_THAT(
      errors_after_model("[train]\nlr = 0.1\nmin_lr = 0.2\nwarmup = 6\n"
                         "steps = 5\nmomentum = 0.9\n"),
      ElementsAre("E024] run.toml:5: train.min_lr = 0.2 must be at most "
                  "train.lr = 0.1; hint: min_lr is where the decay ends",
                  "E025] run.toml:6: train.warmup = 6 must be at most "
                  "train.steps = 5; hint: the rate would never reach train.lr",
                  "E029] run.toml:8: train.momentum = 0.9 needs "
                  "train.optimizer = \"sgd\"; hint: for adamw set "
                  "train.betas"));
  EXPECT_THAT(errors_after_model("[train]\nlr = 0.1\nmin_lr = 0.1\nwarmup = 5\n"
                                 "steps = 5\n"),
              ElementsAre());
}

TEST(ParseErrors, KeysOfAnotherKindOfModel) {
  EXPECT_THAT(errors_after_model("forward_ms = 1\n"),
              ElementsAre("E026] run.toml:3: model.forward_ms needs model.kind "
                          "= \"emulated\"; hint: remove it, or change "
                          "model.kind = \"gpt2\""));
  EXPECT_THAT(
      errors("[model]\nkind = \"emulated\"\nforward_ms = 1\n"
             "input_grad_ms = 1\nweight_grad_ms = 1\nhidden = 8\n"
             "preset = \"gpt2-tiny\"\n"),
      ElementsAre("E026] run.toml:6: model.hidden needs model.kind = "
                  "\"gpt2\", \"bert\" or \"llama\"; hint: remove it, or "
                  "change model.kind = \"emulated\"",
                  "E026] run.toml:7: model.preset needs model.kind = "
                  "\"gpt2\", \"bert\" or \"llama\"; hint: remove it, or "
                  "change model.kind = \"emulated\""));
}

TEST(ParseErrors, KeysOfALlama) {
  EXPECT_THAT(errors_after_model("kv_heads = 2\n"),
              ElementsAre("E026] run.toml:3: model.kv_heads needs model.kind = "
                          "\"llama\"; hint: remove it, or change model.kind "
                          "= \"gpt2\""));
  const std::string llama = "[model]\npreset = \"llama-tiny\"\n";
  EXPECT_THAT(errors(llama + "kv_heads = 3\nhead_dim = 7\nvariant = \"x\"\n"),
              ElementsAre("E036] run.toml:3: model.kv_heads = 3 must divide "
                          "model.heads = 4; hint: each key and value serves "
                          "the same number of queries",
                          "E037] run.toml:4: model.head_dim = 7 must be even, "
                          "as rotary positions turn pairs; hint: it is hidden "
                          "/ heads unless given",
                          "E009] run.toml:5: model.variant = \"x\" must be "
                          "one of llama, mistral, qwen2, qwen3"));
}

TEST(ParseErrors, PresetAgainstKindAndInit) {
  EXPECT_THAT(errors_after_model("kind = \"bert\"\ninit = \"dir\"\n"),
              ElementsAre("E028] run.toml:2: model.preset = \"gpt2-tiny\" must "
                          "not stand beside model.init; hint: each gives the "
                          "shape; remove one",
                          "E027] run.toml:3: model.kind = \"bert\" must be "
                          "\"gpt2\" as model.preset = \"gpt2-tiny\" says; "
                          "hint: leave model.kind out, or choose another "
                          "preset"));
}

TEST(ParseErrors, EmulatedLists) {
  const std::string kind = "[model]\nkind = \"emulated\"\n";
  EXPECT_THAT(errors(kind + "forward_ms = [1, 2]\ninput_grad_ms = [1, 2, 3]\n"
                            "weight_grad_ms = 1\n"),
              ElementsAre("E030] run.toml:4: length of model.input_grad_ms = 3 "
                          "must be that of model.forward_ms, 2; hint: give one "
                          "number, or one per stage"));
  EXPECT_THAT(
      errors(kind + "forward_ms = []\ninput_grad_ms = 1\n"
                    "weight_grad_ms = [1, -1]\n"),
      ElementsAre("E010] run.toml:3: length of model.forward_ms = 0 must "
                  "be 1, or the number of stages",
                  "E008] run.toml:5: model.weight_grad_ms[1] = -1 must "
                  "be at least 0"));
}

TEST(ParseErrors, LinksWithinANodeNeedItsRanks) {
  const std::string emulated =
      "[model]\nkind = \"emulated\"\nforward_ms = 1\ninput_grad_ms = 1\n"
      "weight_grad_ms = 1\nnode_latency_ms = 1\nnode_gbps = 8\n";
  EXPECT_THAT(errors(emulated),
              ElementsAre("E038] run.toml:6: model.node_latency_ms needs "
                          "model.node_ranks; hint: say how many ranks share a "
                          "node",
                          "E038] run.toml:7: model.node_gbps needs "
                          "model.node_ranks; hint: say how many ranks share a "
                          "node"));
  EXPECT_THAT(errors(emulated + "node_ranks = 4\n"), ElementsAre());
  EXPECT_THAT(errors(emulated + "node_ranks = 0\n"),
              ElementsAre("E008] run.toml:8: model.node_ranks = 0 must be at "
                          "least 1"));
}

TEST(ParseErrors, CutAscendsFromZero) {
  EXPECT_THAT(errors_after_schedule("cut = [1, 2]\n"),
              ElementsAre("E031] run.toml:7: schedule.cut[0] = 1 must be 0; "
                          "hint: cut lists the first layer of each stage"));
  EXPECT_THAT(errors_after_schedule("cut = [0, 2, 2]\n"),
              ElementsAre("E031] run.toml:7: schedule.cut[2] = 2 must be above "
                          "schedule.cut[1] = 2; hint: cut lists the first "
                          "layer of each stage"));
  EXPECT_THAT(errors_after_schedule("cut = [0, 1, 3]\n"), ElementsAre());
}

TEST(ParseErrors, DataThatContradictsItself) {
  EXPECT_THAT(
      errors_after_model("[data]\npath = [\"a\", \"b*\"]\neval_path = \"c\"\n"
                         "eval_fraction = 0.1\nweights = [1]\n"),
      ElementsAre("E032] run.toml:6: data.eval_fraction = 0.1 must not stand "
                  "beside data.eval_path; hint: each says what to evaluate; "
                  "remove one",
                  "E034] run.toml:7: length of data.weights = 1 must be that "
                  "of data.path, 2; hint: give one weight for each file or "
                  "pattern"));
  EXPECT_THAT(errors("[model]\npreset = \"bert-tiny\"\n[data]\npack = "
                     "\"documents\"\n"),
              ElementsAre("E033] run.toml:4: data.pack = \"documents\" needs a "
                          "causal model; hint: remove it: BERT's pairs never "
                          "cross documents"));
}

TEST(ParseErrors, ManyAtOnceFromTheTopDown) {
  const Lines lines = errors(
      "[train]\nlr = -1\n[run]\ntrase = true\n[model]\nkind = \"gpt3\"\n"
      "[schedule]\ndepth = \"x\"\n",
      {"run.keep=0"});
  EXPECT_THAT(lines,
              ElementsAre(testing::StartsWith("E008] run.toml:2: train.lr"),
                          testing::StartsWith("E005] run.toml:4: run.trase"),
                          testing::StartsWith("E009] run.toml:6: model.kind"),
                          testing::StartsWith("E007] run.toml:8: schedule.dep"),
                          testing::HasSubstr("schedule.micros is missing"),
                          testing::HasSubstr("schedule.micro_batch is missing"),
                          testing::StartsWith("E008] --set run.keep=0: ")));
}

}  // namespace
}  // namespace chimera
