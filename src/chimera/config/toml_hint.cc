#include "chimera/config/toml_hint.h"

#include "chimera/base/text.h"

namespace chimera {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// True for a name or path that lacks its quotes: gpt2-tiny, /data, ~/data,
// ../data.
bool is_bare_text(std::string_view value) {
  return is_letter(value[0]) || value[0] == '/' || value[0] == '~' ||
         value.starts_with("./") || value.starts_with("../");
}

// `value` is the text after `key =` on the line.
std::string value_hint(std::string_view key, std::string_view value,
                       std::string_view reason) {
  const auto says = [reason](std::string_view part) {
    return reason.find(part) != std::string_view::npos;
  };
  if (value.empty()) return "write a value after =";
  if (value[0] == '=') return "one = is enough";
  if (value[0] == '"' && says("escape sequence")) {
    return "a backslash is written \\\\, or the text in single quotes";
  }
  if (value[0] == '"' || value[0] == '\'') {
    return "close the quotes on the same line";
  }
  if (value == "True" || value == "False") {
    return "true and false are written in small letters";
  }
  if (is_bare_text(value)) {
    return "text stands in quotes: " + shown(key) + " = \"" + shown(value) +
           "\"";
  }
  if (says("64 bits")) return "use a smaller number";
  return "a number reads 4, 0.5 or 3e-4, and a line has one key";
}

}  // namespace

std::string toml_hint(std::string_view line, std::string_view reason) {
  const auto says = [reason](std::string_view part) {
    return reason.find(part) != std::string_view::npos;
  };
  if (says("cannot redefine")) return "every key and section stands once";
  if (says("parsing array")) return "close the list with ]";
  line = trim(line.substr(0, line.find('#')));
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) {
    if (line.starts_with('[')) return "a section reads [train]";
    if (line.starts_with('{')) return "this is JSON, not a run.toml";
    return line.find(':') == std::string_view::npos ? "a line reads key = value"
                                                    : "write = instead of :";
  }
  return value_hint(trim(line.substr(0, equals)), trim(line.substr(equals + 1)),
                    reason);
}

}  // namespace chimera
