// A pull reader for untrusted JSON. The caller says what it expects and takes
// values as they come, so memory is bounded by what the caller keeps. Every
// mistake is recorded with file:line. A value of an unexpected type is recorded
// and skipped; broken syntax ends the reading.
//
//   JsonReader reader(text, "a.json", errors);
//   reader.object("the document", [&](const std::string& key) {
//     if (key == "micros") micros = reader.integer("micros");
//     else reader.unknown_key(key, {"micros"});
//   });
//   reader.finish();
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chimera/base/result.h"

namespace chimera {

// The error codes of the reader's messages, and the kind of every mistake that
// it records: each kind of file has a set.
struct JsonCodes {
  const char* syntax = "E101";
  const char* type = "E102";
  const char* range = "E103";
  const char* key = "E104";
  DiagnosticKind kind = DiagnosticKind::kUsage;
};

class JsonReader {
 public:
  JsonReader(std::string_view text, std::string file_name, Diagnostics& errors,
             JsonCodes codes = {})
      : text_(text),
        file_(std::move(file_name)),
        errors_(errors),
        codes_(codes) {}

  // Each of these reads one value, which messages call `name`. Returns nullopt,
  // and records the mistake, if the value has another type or is out of range.
  std::optional<int> integer(const std::string& name);
  std::optional<std::int64_t> integer64(const std::string& name);
  std::optional<double> real(const std::string& name);
  std::optional<bool> boolean(const std::string& name);
  std::optional<std::string> string(const std::string& name);
  // The first character of the next value, which tells its type; 0 at the end.
  [[nodiscard]] char first_character() { return failed_ ? '\0' : peek(); }
  // Takes a null and returns true; anything else is left in place and nothing
  // is recorded.
  bool null();
  // Skips one valid value of any type.
  void skip();

  // Calls element() for each element of an array; element() must read exactly
  // one value.
  template <class Element>
  void array(const std::string& name, const Element& element) {
    if (!open('[', name, "an array")) return;
    while (!failed_ && more(']')) element();
  }
  // Calls member(key) for each member of an object; member() must read exactly
  // one value.
  template <class Read>
  void object(const std::string& name, const Read& member) {
    if (!open('{', name, "an object")) return;
    while (!failed_ && more('}')) {
      const std::string key = read_key();
      if (!failed_) member(key);
    }
  }

  // Records that `key` is unknown and skips its value.
  void unknown_key(const std::string& key,
                   const std::vector<std::string>& known);

  // Records a mistake at the current line. Reading ends after 100 mistakes.
  void refuse(const char* code, const std::string& found,
              const std::string& needed, const std::string& hint = "");
  // Records a mistake of the whole file, without a line.
  void refuse_file(const char* code, const std::string& found,
                   const std::string& needed);

  // Records a mistake if any text is left.
  void finish();
  // True once reading has ended early, by broken syntax or too many mistakes.
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  [[nodiscard]] char peek();
  bool open(char bracket, const std::string& name, const char* type);
  // Whether another element follows; takes the comma or the closing bracket.
  bool more(char closing);
  std::string read_key();
  std::string read_string();
  void read_escape(std::string& out);
  std::optional<unsigned> read_hex();
  unsigned read_code_point();    // after "\u"
  std::string_view read_bare();  // a number or literal
  std::optional<std::string_view> read_digits(const std::string& name,
                                              const char* type);
  void skip_bare();
  void wrong_type(const std::string& name, const char* needed);
  void syntax(const std::string& needed);

  std::string_view text_;
  std::string file_;
  Diagnostics& errors_;
  JsonCodes codes_;
  size_t at_ = 0;
  int line_ = 1;
  int depth_ = 0;  // nesting depth of the value that skip() skips
  bool failed_ = false;
  bool first_ = false;  // the next element is the first of its container
};

}  // namespace chimera
