// Files of token ids in several formats, and files that are something else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <numeric>

#include "chimera/data/files_for_tests.h"
#include "chimera/tokenizer/corpus/corpus_description.h"
#include "chimera/tokenizer/corpus/megatron_index.h"

namespace chimera {
namespace {

using namespace std::string_view_literals;
using Ids = std::vector<std::int64_t>;
using testing::HasSubstr;

template <class Id>
std::string bytes_of(const std::vector<Id>& ids) {
  return {reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(Id)};
}

DataOptions causal(const std::string& path, int vocab = 100000) {
  return {.paths = {path},
          .order = SampleOrder::kSequential,
          .seq = 4,
          .vocab = vocab};
}

// The tokens of the first sample, including its last target.
Ids first_tokens(const DataOptions& options) {
  const Batch batch = opened(options)->read(0, 0, 1);
  Ids ids = batch.inputs;
  ids.push_back(batch.targets.back());
  return ids;
}

const Ids kFirst = {70000, 1, 2, 3, 4};
const std::vector<std::uint32_t> kWide = {70000, 1, 2, 3, 4, 5, 6, 7, 8, 70001};

TEST(Formats, Uint32IsReadWhenAskedFor) {
  DataOptions options = causal(make_file("a.bin", bytes_of(kWide)));
  options.token_type = TokenType::kUint32;
  EXPECT_EQ(first_tokens(options), kFirst);
  options.vocab = 70000;
  EXPECT_EQ(mistakes_of(options),
            "error[E505] FILE, token 0: id 70000 must be below vocab = 70000; "
            "hint: raise model.vocab, or is this another tokenizer's file?");
  options.paths = {make_file("b.bin", "abcdef")};
  EXPECT_EQ(mistakes_of(options),
            "error[E503] FILE, byte 5: 6 bytes must be a multiple of four, "
            "four bytes a token; hint: write it as uint32; was it written to "
            "its end?");
}

TEST(Formats, ADescriptionTellsTheTypeAndIsHeldAgainstTheModel) {
  const std::string path = make_file("a.bin", bytes_of(kWide));
  CorpusDescription description{
      .wide = true, .tokens = 10, .documents = 1, .vocab = 100000};
  const auto describe = [&] {
    write_file(description_path(path), print(description));
  };
  describe();
  EXPECT_EQ(read_description(path).value(), description);
  EXPECT_EQ(first_tokens(causal(path)), kFirst);

  DataOptions narrow = causal(path);
  narrow.token_type = TokenType::kUint16;
  EXPECT_THAT(mistakes_of(narrow),
              HasSubstr("error[E513] FILE: data.token_type = \"uint16\" "
                        "contradicts "));
  EXPECT_THAT(mistakes_of(causal(path, 80000)),
              HasSubstr("a vocabulary of 100000 ids is larger than model.vocab "
                        "= 80000; hint: set model.vocab = 100000"));
  description.tokens = 9;
  describe();
  EXPECT_THAT(mistakes_of(causal(path)),
              HasSubstr("9 tokens are not what FILE holds: 40 bytes"));
  // A file of this name in another format is ignored.
  write_file(description_path(path), "{\"format\": \"theirs\"}");
  EXPECT_THAT(mistakes_of(causal(path)), HasSubstr("E515"));
  std::filesystem::remove(description_path(path));
}

std::string shard(std::int32_t magic, std::int32_t version, int tokens) {
  std::vector<std::int32_t> header(256, 0);
  header[0] = magic;
  header[1] = version;
  header[2] = tokens;
  return bytes_of(header);
}

TEST(Formats, ShardsOfLlmC) {
  const std::vector<std::uint16_t> ids = {50256, 1, 2, 3, 4};
  EXPECT_EQ(first_tokens(causal(
                make_file("a.bin", shard(20240520, 1, 5) + bytes_of(ids)))),
            (Ids{50256, 1, 2, 3, 4}));
  EXPECT_EQ(first_tokens(causal(
                make_file("b.bin", shard(20240801, 7, 10) + bytes_of(kWide)))),
            kFirst);
  EXPECT_THAT(
      mistakes_of(
          causal(make_file("c.bin", shard(20240520, 1, 6) + bytes_of(ids)))),
      HasSubstr("10 bytes of ids contradict FILE, which says 6 of 2 bytes"));
}

TEST(Formats, MegatronsIndexTellsTypeAndDocuments) {
  const std::string path = make_file("a.bin", bytes_of(kWide));
  write_megatron_index(
      index_path(path),
      {.bytes_per_id = 4, .tokens = 10, .document_ends = {3, 3, 10}});
  EXPECT_EQ(first_tokens(causal(path)), kFirst);
  const auto file = read_tokens(std::move(map_file(path)).value(),
                                {.vocab = 100000, .finds_documents = true});
  ASSERT_TRUE(file);
  EXPECT_EQ(file->documents(), (std::vector<TokenRange>{{0, 3}, {3, 10}}));

  write_megatron_index(index_path(path),
                       {.bytes_per_id = 4, .document_ends = {11}});
  EXPECT_THAT(mistakes_of(causal(path)),
              HasSubstr("error[E516] FILE: 40 bytes of ids contradict "));
  write_file(index_path(path), "MMIDIDX\0\0\1\0\0"sv);
  EXPECT_THAT(mistakes_of(causal(path)), HasSubstr("the index is cut short"));
  write_file(index_path(path), "something else");
  EXPECT_THAT(mistakes_of(causal(path)),
              HasSubstr("the file is not a Megatron index"));
  std::filesystem::remove(index_path(path));
}

// Ranks that do not scan the data must not read gigabytes. The test counts page
// faults, which do not depend on the machine's load.
TEST(Formats, ATrustedListOfLargeFilesIsOnlyMapped) {
  constexpr std::int64_t kGigabyte = 1 << 30;
  DataOptions options = causal("");
  options.paths.clear();
  options.scan = Scan::kTrusted;
  for (const char* name : {"a.bin", "b.bin", "c.bin", "d.bin"}) {
    options.paths.push_back(make_file(name, ""));
    std::filesystem::resize_file(options.paths.back(), kGigabyte);  // sparse
  }
  const auto faults = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt + usage.ru_majflt;
  };
  const long before = faults();
  const auto source = opened(options);
  EXPECT_EQ(source->num_tokens(), 4 * kGigabyte / 2);
  // Reading a single one of the files would touch 262,144 pages.
  EXPECT_LT(faults() - before, 2000);
  for (const std::string& path : options.paths) std::filesystem::remove(path);
}

TEST(Formats, WideIdsReadAsNarrowOnesAreRefused) {
  std::vector<std::uint32_t> ids32(100);
  std::vector<std::uint64_t> ids64(100);
  std::iota(ids32.begin(), ids32.end(), 0);
  std::iota(ids64.begin(), ids64.end(), 0);
  EXPECT_EQ(mistakes_of(causal(make_file("a.bin", bytes_of(ids32)))),
            "error[E515] FILE: the file, read as uint16, seems to hold int32 "
            "ids: every second number is 0; hint: set data.token_type = "
            "\"uint32\"");
  ids32[50] = 128000;
  EXPECT_THAT(mistakes_of(causal(make_file("d.bin", bytes_of(ids32)))),
              HasSubstr("seems to hold int32 ids: every second number is at "
                        "most 1"));
  DataOptions options = causal(make_file("b.bin", bytes_of(ids64)));
  EXPECT_THAT(mistakes_of(options),
              HasSubstr("seems to hold int64 ids: three of "
                        "four numbers are 0; hint: write "
                        "it anew: numpy.fromfile"));
  options.token_type = TokenType::kUint32;
  EXPECT_THAT(mistakes_of(options), HasSubstr("read as uint32, seems to hold "
                                              "int64 ids"));
  const std::vector<std::uint16_t> zeros(100, 0);
  EXPECT_EQ(mistakes_of(causal(make_file("c.bin", bytes_of(zeros)))), "");
}

TEST(Formats, FilesOfAnotherKindAreNamed) {
  struct Case {
    std::string bytes;
    const char* kind;
  };
  const std::string header = "{\"a\":{\"dtype\":\"F32\"}}";
  const std::string length("\x15\0\0\0\0\0\0\0"sv);
  for (const Case& file :
       std::vector<Case>{{"\x93NUMPY\x01",
                          "a NumPy file (.npy), not text or token ids; "
                          "hint: write the ids alone: numpy.load"},
                         {"\x1f\x8b\x08", "packed by gzip"},
                         {"\x28\xb5\x2f\xfd", "packed by zstd"},
                         {"PAR1", "a Parquet file"},
                         {"PK\x03\x04", "a zip archive"},
                         {std::string("MMIDIDX\0\0"sv), "Megatron's index"},
                         {length + header, "a safetensors file"}}) {
    for (const char* name : {"a.bin", "a.txt", "a.jsonl"}) {
      const std::string path =
          make_file(name, file.bytes + std::string(100, '\1'));
      EXPECT_THAT(mistakes_of(causal(path)),
                  HasSubstr(std::string("error[E514] FILE: the file seems to "
                                        "be ") +
                            file.kind));
    }
  }
}

}  // namespace
}  // namespace chimera
