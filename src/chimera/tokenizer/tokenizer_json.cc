#include "chimera/tokenizer/tokenizer_json.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "chimera/base/text.h"
#include "chimera/tokenizer/json_components.h"
#include "chimera/tokenizer/utf8.h"

namespace chimera {
namespace {

// The fields of "model", of either type.
struct ModelFields {
  std::string type;
  Vocabulary vocabulary;
  std::optional<std::string> unknown;
  std::optional<std::string> prefix;  // continuing_subword_prefix
  BpeSpec bpe;
  WordPieceSpec pieces;
};

struct Document {
  ModelFields model;
  bool has_model = false;
  std::vector<AddedToken> added;
  Normalizer normalizer;
  std::optional<PreTokenizer> words;
  bool has_words = false;
  Decoder decoder;
};

std::pair<std::string, std::string> read_merge(JsonReader& reader) {
  if (reader.first_character() == '[') {
    std::vector<std::string> parts;
    reader.array("a merge", [&] {
      parts.push_back(reader.string("a merge").value_or(""));
    });
    if (parts.size() == 2) return {parts[0], parts[1]};
    reader.refuse("E703", "a merge of " + std::to_string(parts.size()),
                  "must be a pair");
    return {};
  }
  const std::string text = reader.string("a merge").value_or("");
  const std::vector<std::string_view> parts = split(text, ' ');
  if (parts.size() == 2) return {std::string(parts[0]), std::string(parts[1])};
  if (!reader.failed()) {
    reader.refuse("E703", "merge \"" + shown(text) + "\"",
                  "must be two tokens with a blank between them");
  }
  return {};
}

// Reads a key of an unsupported feature, which must be null, false, 0 or empty.
void read_absent(JsonReader& reader, const std::string& key) {
  const char first = reader.first_character();
  const bool absent = first == '"' ? reader.string(key).value_or("").empty()
                      : first == 't' || first == 'f'
                          ? !reader.boolean(key).value_or(false)
                      : first == 'n' ? reader.null()
                                     : reader.real(key).value_or(0) == 0;
  if (!absent) {
    refuse_unsupported(reader, "a model with " + key, "only without it");
  }
}

std::optional<std::string> optional_string(JsonReader& reader,
                                           const std::string& key) {
  if (reader.null()) return std::nullopt;
  return reader.string(key);
}

void read_model_key(JsonReader& reader, const std::string& key,
                    ModelFields& out) {
  if (key == "type") {
    out.type = reader.string(key).value_or("");
  } else if (key == "vocab") {
    out.vocabulary = read_vocabulary(reader);
  } else if (key == "merges") {
    reader.array(key, [&] { out.bpe.merges.push_back(read_merge(reader)); });
  } else if (key == "unk_token") {
    out.unknown = optional_string(reader, key);
  } else if (key == "continuing_subword_prefix") {
    out.prefix = optional_string(reader, key);
  } else if (key == "ignore_merges") {
    out.bpe.ignore_merges = reader.boolean(key).value_or(false);
  } else if (key == "fuse_unk") {
    out.bpe.fuse_unknown = reader.boolean(key).value_or(false);
  } else if (key == "max_input_chars_per_word") {
    const int most = reader.integer(key).value_or(0);
    out.pieces.most_characters = static_cast<size_t>(std::max(most, 0));
  } else if (key == "dropout" || key == "end_of_word_suffix" ||
             key == "byte_fallback") {
    read_absent(reader, key);
  } else {
    refuse_unsupported(reader, "a model with \"" + shown(key) + "\"",
                       "only without it");
    reader.skip();
  }
}

// REQUIRES: the reader writes to `errors`.
ModelFields read_model(JsonReader& reader, Diagnostics& errors) {
  const size_t before = errors.size();
  ModelFields out;
  reader.object("model", [&](const std::string& key) {
    read_model_key(reader, key, out);
  });
  if (reader.failed()) return out;
  if (out.type != "BPE" && out.type != "WordPiece") {
    errors.resize(before);  // the unsupported type is the only error reported
    refuse_unsupported(reader, "model " + shown(out.type),
                       "supported: byte-level BPE, WordPiece");
  } else if (out.type == "BPE" && !out.prefix.value_or("").empty()) {
    refuse_unsupported(reader, "BPE with continuing_subword_prefix",
                       "only without it");
  }
  return out;
}

void read_document_key(JsonReader& reader, const std::string& key,
                       Diagnostics& errors, Document& out) {
  if (key == "added_tokens") {
    reader.array(key, [&] { out.added.push_back(read_added_token(reader)); });
  } else if (key == "normalizer") {
    out.normalizer = read_normalizer(reader);
  } else if (key == "pre_tokenizer") {
    out.words = read_pre_tokenizer(reader);
    out.has_words = true;
  } else if (key == "decoder") {
    out.decoder = read_decoder(reader);
  } else if (key == "model") {
    out.model = read_model(reader, errors);
    out.has_model = true;
  } else if (key == "version" || key == "truncation" || key == "padding" ||
             key == "post_processor") {
    reader.skip();
  } else {
    reader.unknown_key(
        key, {"version", "truncation", "padding", "added_tokens", "normalizer",
              "pre_tokenizer", "post_processor", "decoder", "model"});
  }
}

// Checks that the parts, each valid by itself, fit together.
void check_document(const Document& document, const std::string& file,
                    Diagnostics& errors) {
  const auto refuse = [&](const char* code, const std::string& found,
                          const std::string& needed, const std::string& hint) {
    errors.push_back({.kind = DiagnosticKind::kData,
                      .code = code,
                      .where = file,
                      .found = found,
                      .needed = needed,
                      .hint = hint});
  };
  if (!document.has_model) {
    refuse("E704", "\"model\"", "is missing",
           "is this a tokenizer.json? name its directory or the file itself");
    return;
  }
  if (!document.has_words) {
    refuse("E706", "a file without a pre_tokenizer", "is not supported",
           "supported: ByteLevel, BertPreTokenizer");
  }
  if (!document.words || !errors.empty()) return;
  const bool bytes = document.words->pattern.has_value();
  const std::string needed = bytes ? "ByteLevel" : "WordPiece";
  if ((document.model.type == "BPE") != bytes) {
    refuse("E706", "model " + document.model.type + " with this pre_tokenizer",
           "is not supported",
           "supported: BPE with ByteLevel, WordPiece with BertPreTokenizer");
  } else if (!document.decoder.type.empty() &&
             document.decoder.type != needed) {
    refuse("E706",
           "model " + document.model.type + " with decoder " +
               document.decoder.type,
           "is not supported", "supported: decoder " + needed);
  }
}

TokenizerSpec spec_of(Document document, const std::string& file) {
  TokenizerSpec spec{.file = file,
                     .vocabulary = std::move(document.model.vocabulary),
                     .added = std::move(document.added),
                     .normalizer = document.normalizer};
  if (document.model.type == "BPE") {
    BpeSpec bpe = std::move(document.model.bpe);
    bpe.pattern = *document.words->pattern;
    bpe.add_prefix_space = document.words->add_prefix_space;
    bpe.unknown = document.model.unknown.value_or("");
    spec.model = std::move(bpe);
  } else {
    WordPieceSpec pieces = document.model.pieces;
    pieces.unknown = document.model.unknown.value_or(pieces.unknown);
    pieces.prefix = document.model.prefix.value_or(pieces.prefix);
    pieces.cleanup = document.decoder.cleanup;
    spec.model = std::move(pieces);
  }
  return spec;
}

}  // namespace

JsonCodes tokenizer_json_codes() {
  return {.syntax = "E702",
          .type = "E703",
          .range = "E703",
          .key = "E704",
          .kind = DiagnosticKind::kData};
}

AddedToken read_added_token(JsonReader& reader) {
  AddedToken token;
  reader.object("an added token", [&](const std::string& key) {
    const auto flag = [&] { return reader.boolean(key).value_or(false); };
    if (key == "id") {
      const int id = reader.integer(key).value_or(0);
      if (id < 0)
        reader.refuse("E703", "id = " + std::to_string(id),
                      "must be at least 0");
      token.id = static_cast<TokenId>(std::max(id, 0));
    } else if (key == "content") {
      token.content = reader.string(key).value_or("");
    } else if (key == "lstrip") {
      token.lstrip = flag();
    } else if (key == "rstrip") {
      token.rstrip = flag();
    } else if (key == "normalized") {
      token.normalized = flag();
    } else if (key == "single_word") {
      if (flag()) {
        refuse_unsupported(reader, "an added token with single_word",
                           "only without it");
      }
    } else {
      reader.skip();
    }
  });
  return token;
}

Vocabulary read_vocabulary(JsonReader& reader) {
  Vocabulary vocabulary;
  reader.object("vocab", [&](const std::string& token) {
    const int id = reader.integer("id of \"" + shown(token) + "\"").value_or(0);
    if (id < 0) {
      reader.refuse("E703", "id " + std::to_string(id), "must be at least 0");
      return;
    }
    vocabulary[token] = static_cast<TokenId>(id);
  });
  return vocabulary;
}

Result<TokenizerSpec> parse_tokenizer_json(std::string_view text,
                                           const std::string& file) {
  std::string storage;
  Diagnostics errors;
  Document document;
  // Replaces invalid UTF-8 by U+FFFD; everything below relies on valid UTF-8.
  JsonReader reader(repaired(text, storage), file, errors,
                    tokenizer_json_codes());
  reader.object("the file", [&](const std::string& key) {
    read_document_key(reader, key, errors, document);
  });
  reader.finish();
  if (errors.empty()) check_document(document, file, errors);
  if (!errors.empty()) return errors;
  return spec_of(std::move(document), file);
}

}  // namespace chimera
