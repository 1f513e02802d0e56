#include "chimera/tokenizer/json_components.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "chimera/base/text.h"

namespace chimera {
namespace {

// A component as the file gives it: booleans, strings, and the parts of a
// sequence.
struct Component {
  std::string type;
  std::map<std::string, bool> switches;  // null values are omitted
  std::map<std::string, std::string> texts;
  std::vector<Component> parts;
  std::vector<std::string> others;  // keys with values of another type
};

constexpr int kDeepest = 4;

void read_value(JsonReader& reader, const std::string& key, int depth,
                Component& out);

Component read_component(JsonReader& reader, const char* name, int depth) {
  Component out;
  reader.object(name, [&](const std::string& key) {
    if (key == "type") {
      out.type = reader.string(key).value_or("");
    } else {
      read_value(reader, key, depth, out);
    }
  });
  return out;
}

void read_value(JsonReader& reader, const std::string& key, int depth,
                Component& out) {
  const char first = reader.first_character();
  if (first == 't' || first == 'f') {
    out.switches[key] = reader.boolean(key).value_or(false);
  } else if (first == '"') {
    out.texts[key] = reader.string(key).value_or("");
  } else if (first == '[' && key == "pretokenizers" && depth < kDeepest) {
    reader.array(key, [&] {
      out.parts.push_back(read_component(reader, "pre_tokenizer", depth + 1));
    });
  } else if (first == '{' && key == "pattern") {
    reader.object(key, [&](const std::string& kind) {
      out.texts[kind] = reader.string(kind).value_or("");
    });
  } else {
    if (first != 'n') out.others.push_back(key);
    reader.skip();
  }
}

bool is_on(const Component& component, const std::string& key, bool absent) {
  const auto found = component.switches.find(key);
  return found == component.switches.end() ? absent : found->second;
}

std::string text_of(const Component& component, const std::string& key) {
  const auto found = component.texts.find(key);
  return found == component.texts.end() ? "" : found->second;
}

// Refuses keys that a component of its type does not have.
void check_keys(JsonReader& reader, const Component& component,
                const std::vector<std::string>& known) {
  const auto check = [&](const std::string& key) {
    if (std::find(known.begin(), known.end(), key) != known.end()) return;
    refuse_unsupported(reader, component.type + " with \"" + shown(key) + "\"",
                       "it has " + join(known, ", "));
  };
  for (const auto& [key, value] : component.switches) check(key);
  for (const auto& [key, value] : component.texts) check(key);
  for (const std::string& key : component.others) check(key);
}

// Reads a Split pre-tokenizer with a known pattern, each match a word.
std::optional<SplitPattern> split_pattern(JsonReader& reader,
                                          const Component& split) {
  check_keys(reader, split, {"Regex", "behavior", "invert"});
  const std::string regex = text_of(split, "Regex");
  const auto pattern = known_pattern(regex);
  if (!pattern) {
    refuse_unsupported(reader, "the pattern \"" + shown(regex) + "\"",
                       "supported: the patterns of GPT-2, Llama 3 and Qwen");
  }
  if (text_of(split, "behavior") != "Isolated" ||
      is_on(split, "invert", false)) {
    refuse_unsupported(reader,
                       "Split with behavior \"" +
                           shown(text_of(split, "behavior")) + "\" or invert",
                       "supported: \"Isolated\", without invert");
  }
  return pattern;
}

void check_byte_level(JsonReader& reader, const Component& component) {
  check_keys(reader, component,
             {"add_prefix_space", "trim_offsets", "use_regex"});
}

std::optional<PreTokenizer> pre_tokenizer_of(JsonReader& reader,
                                             const Component& component) {
  if (component.type == "BertPreTokenizer") {
    check_keys(reader, component, {});
    return PreTokenizer{};
  }
  const bool whole = component.type == "ByteLevel";
  if (whole && is_on(component, "use_regex", true)) {
    check_byte_level(reader, component);
    return PreTokenizer{
        .pattern = SplitPattern::kGpt2,
        .add_prefix_space = is_on(component, "add_prefix_space", true)};
  }
  const auto& parts = component.parts;
  if (component.type == "Sequence" && parts.size() == 2 &&
      parts[0].type == "Split" && parts[1].type == "ByteLevel" &&
      !is_on(parts[1], "use_regex", true) &&
      !is_on(parts[1], "add_prefix_space", true)) {
    check_byte_level(reader, parts[1]);
    return PreTokenizer{.pattern = split_pattern(reader, parts[0])};
  }
  std::vector<std::string> names;
  names.reserve(parts.size());
  for (const Component& part : parts) names.push_back(shown(part.type));
  refuse_unsupported(
      reader,
      "pre_tokenizer " + shown(component.type) +
          (names.empty() ? "" : " of " + join(names, ", ")) +
          (whole ? " without a pattern" : ""),
      "supported: BertPreTokenizer, ByteLevel, and Split before a ByteLevel "
      "whose use_regex and add_prefix_space are false");
  return std::nullopt;
}

}  // namespace

void refuse_unsupported(JsonReader& reader, const std::string& what,
                        const std::string& hint) {
  reader.refuse("E706", what, "is not supported", hint);
}

Normalizer read_normalizer(JsonReader& reader) {
  if (reader.null()) return {};
  const Component read = read_component(reader, "normalizer", 0);
  if (reader.failed()) return {};
  if (read.type == "NFC") {
    check_keys(reader, read, {});
    return Nfc{};
  }
  if (read.type != "BertNormalizer") {
    refuse_unsupported(reader, "normalizer " + shown(read.type),
                       "supported: NFC, BertNormalizer, none");
    return {};
  }
  check_keys(
      reader, read,
      {"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
  BertNormalizer bert;
  bert.clean_text = is_on(read, "clean_text", true);
  bert.handle_chinese_chars = is_on(read, "handle_chinese_chars", true);
  bert.lowercase = is_on(read, "lowercase", true);
  bert.strip_accents = is_on(read, "strip_accents", bert.lowercase);
  return bert;
}

std::optional<PreTokenizer> read_pre_tokenizer(JsonReader& reader) {
  if (reader.null()) {
    refuse_unsupported(reader, "a file without a pre_tokenizer",
                       "supported: ByteLevel, BertPreTokenizer");
    return std::nullopt;
  }
  const Component read = read_component(reader, "pre_tokenizer", 0);
  if (reader.failed()) return std::nullopt;
  return pre_tokenizer_of(reader, read);
}

Decoder read_decoder(JsonReader& reader) {
  if (reader.null()) return {};
  const Component read = read_component(reader, "decoder", 0);
  if (reader.failed()) return {};
  if (read.type != "ByteLevel" && read.type != "WordPiece") {
    refuse_unsupported(reader, "decoder " + shown(read.type),
                       "supported: ByteLevel, WordPiece");
  }
  return {.type = read.type, .cleanup = is_on(read, "cleanup", true)};
}

}  // namespace chimera
