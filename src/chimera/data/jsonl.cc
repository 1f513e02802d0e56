#include "chimera/data/jsonl.h"

#include <algorithm>
#include <optional>

#include "chimera/base/text.h"
#include "chimera/tokenizer/corpus/json_line.h"

namespace chimera {
namespace {

constexpr size_t kEnough = 10;

// Maps the JSON reader's error codes, which are those of schedule files, to
// codes for data files.
std::string data_code(const std::string& code) {
  if (code == "E101") return "E507";
  if (code == "E102") return "E508";
  if (code == "E103") return "E511";
  return code;
}

std::optional<Diagnostic> first_mistake(
    const JsonlText& line, const std::function<void(JsonReader&)>& read_line) {
  Diagnostics mistakes;
  JsonReader reader(line.text, line.path, mistakes,
                    {.kind = DiagnosticKind::kData});
  read_line(reader);
  reader.finish();
  if (mistakes.empty()) return std::nullopt;
  return mistakes.front();
}

void check_bytes(const std::string& text, int vocab, JsonReader& reader) {
  const auto too_large = [&](char c) {
    return static_cast<unsigned char>(c) >= vocab;
  };
  const auto at = std::find_if(text.begin(), text.end(), too_large);
  if (at == text.end()) return;
  reader.refuse("E505", "byte " + std::to_string(static_cast<uint8_t>(*at)),
                "must be below vocab = " + std::to_string(vocab),
                "raise model.vocab; 256 takes any text");
}

}  // namespace

Diagnostics read_lines(const JsonlText& jsonl,
                       const std::function<void(JsonReader&)>& read_line) {
  Diagnostics errors;
  std::string_view rest = jsonl.text;
  for (std::int64_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (trim(line).empty()) continue;
    std::optional<Diagnostic> mistake =
        first_mistake({.text = line, .path = jsonl.path}, read_line);
    if (!mistake) continue;
    mistake->code = data_code(mistake->code);
    mistake->where = jsonl.path + ":" + std::to_string(number);
    errors.push_back(*std::move(mistake));
    if (errors.size() >= kEnough) break;
  }
  return errors;
}

Result<JoinedTexts> join_documents(const JsonlText& jsonl, int vocab) {
  JoinedTexts joined;
  bool first = true;
  Diagnostics errors = read_lines(jsonl, [&](JsonReader& reader) {
    const std::optional<std::string> text = read_line_text(reader);
    if (!text) return;
    check_bytes(*text, vocab, reader);
    if (!first) {
      joined.bytes.push_back('\n');
      joined.ends.push_back(static_cast<std::int64_t>(joined.bytes.size()));
    }
    first = false;
    joined.bytes.insert(joined.bytes.end(), text->begin(), text->end());
  });
  joined.ends.push_back(static_cast<std::int64_t>(joined.bytes.size()));
  if (errors.empty() && joined.bytes.empty()) {
    errors.push_back({.kind = DiagnosticKind::kData,
                      .code = "E502",
                      .where = jsonl.path,
                      .found = "no text",
                      .needed = "is nothing to train on",
                      .hint = "write {\"text\": \"...\"}, one a line"});
  }
  if (!errors.empty()) return errors;
  return joined;
}

bool is_prepared(const JsonlText& jsonl) {
  const size_t begin = jsonl.text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return false;
  const std::string_view rest = jsonl.text.substr(begin);
  bool found = false;
  Diagnostics ignored;
  JsonReader reader(rest.substr(0, rest.find('\n')), jsonl.path, ignored);
  reader.object("the line", [&](const std::string& key) {
    found = found || key == "input_ids";
    reader.skip();
  });
  return found;
}

}  // namespace chimera
