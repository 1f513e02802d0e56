#include "chimera/config/toml_text.h"

// If toml++ 3.3 is used as headers instead of the compiled library, `x = [}]`
// and `[.a]` fail assertions in a debug build. Without assertions they are
// plain errors.
#define TOML_ASSERT(condition) static_cast<void>(0)

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "chimera/base/text.h"
#include "chimera/config/toml_guard.h"
#include "chimera/config/toml_hint.h"

namespace chimera {
namespace {

std::string line_of(const std::string& file_name, std::size_t line) {
  return fmt::format("{}:{}", file_name, line);
}

// Messages of toml++ may quote the file, so they are made printable and put on
// one line.
std::string printable(std::string_view description) {
  constexpr std::size_t kLongest = 160;
  std::string out(description.substr(0, kLongest));
  for (char& c : out) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return out;
}

SourcePlace place_of(const toml::source_region& region,
                     const std::string& file_name) {
  return {line_of(file_name, region.begin.line),
          static_cast<int>(region.begin.line)};
}

TomlValue scalar_of(const toml::node& node) {
  if (const auto* boolean = node.as_boolean()) return {boolean->get()};
  if (const auto* integer = node.as_integer()) return {integer->get()};
  if (const auto* real = node.as_floating_point()) return {real->get()};
  if (const auto* string = node.as_string()) return {string->get()};
  if (node.is_table()) return {TomlOther{"a table"}};
  if (node.is_array()) return {TomlOther{"an array"}};
  return {TomlOther{"a date or time"}};
}

TomlValue value_of(const toml::node& node) {
  const toml::array* array = node.as_array();
  if (array == nullptr) return scalar_of(node);
  std::vector<TomlValue> values;
  for (const toml::node& element : *array) values.push_back(scalar_of(element));
  return {std::move(values)};
}

TomlEntry entry_of(const toml::key& key, const toml::node& node,
                   const std::string& file_name) {
  return {std::string(key.str()), value_of(node),
          place_of(key.source(), file_name)};
}

// toml++ sorts tables alphabetically; this restores the order of the file.
template <class T>
void sort_by_line(std::vector<T>& items) {
  std::stable_sort(items.begin(), items.end(), [](const T& a, const T& b) {
    return a.place.line < b.place.line;
  });
}

TomlSection section_of(const toml::key& key, const toml::table& table,
                       const std::string& file_name) {
  TomlSection section{
      std::string(key.str()), place_of(key.source(), file_name), {}};
  for (const auto& [name, node] : table) {
    section.entries.push_back(entry_of(name, node, file_name));
  }
  sort_by_line(section.entries);
  return section;
}

TomlDocument document_of(const toml::table& root,
                         const std::string& file_name) {
  TomlDocument document;
  for (const auto& [key, node] : root) {
    if (const toml::table* table = node.as_table()) {
      document.sections.push_back(section_of(key, *table, file_name));
    } else {
      document.loose.push_back(entry_of(key, node, file_name));
    }
  }
  sort_by_line(document.sections);
  sort_by_line(document.loose);
  return document;
}

// The value of `v = <text>`, if that is one TOML value and nothing else.
std::optional<TomlValue> value_in(std::string_view text) {
  const std::string document = "v = " + std::string(text);
  if (refuse_unsafe_toml(document, "")) return std::nullopt;
  try {
    const toml::table table = toml::parse(document);
    const toml::node* node = table.get("v");
    if (node == nullptr || table.size() != 1) return std::nullopt;
    return value_of(*node);
  } catch (const toml::parse_error&) {
    return std::nullopt;
  }
}

struct TypeName {
  std::string operator()(bool) const { return "a boolean"; }
  std::string operator()(std::int64_t) const { return "an integer"; }
  std::string operator()(double) const { return "a float"; }
  std::string operator()(const std::string&) const { return "a string"; }
  std::string operator()(const std::vector<TomlValue>&) const {
    return "an array";
  }
  std::string operator()(const TomlOther& other) const { return other.type; }
};

struct ShownValue {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const {
    return std::to_string(value);
  }
  std::string operator()(double value) const {
    return fmt::format("{:#}", value);
  }
  std::string operator()(const std::string& value) const {
    return "\"" + shown(std::string_view(value)) + "\"";
  }
  std::string operator()(const std::vector<TomlValue>& values) const {
    return values.empty() ? "[]" : "[...]";
  }
  std::string operator()(const TomlOther&) const { return "..."; }
};

Diagnostic not_toml(std::string_view text, const toml::parse_error& error,
                    const std::string& file_name) {
  const std::size_t number = error.source().begin.line;
  const std::vector<std::string_view> lines = split(text, '\n');
  const std::string_view line =
      number > 0 && number <= lines.size() ? lines[number - 1] : "";
  // Drops the first half of "Error while parsing value: expected ...".
  std::string_view reason = error.description();
  const std::size_t colon = reason.find(": ");
  if (colon != std::string_view::npos) reason.remove_prefix(colon + 2);
  return {.code = "E001",
          .where = line_of(file_name, number),
          .found = fmt::format("\"{}\"", shown(trim(line))),
          .needed = fmt::format("is not TOML ({})", printable(reason)),
          .hint = toml_hint(line, error.description())};
}

}  // namespace

Result<TomlDocument> read_toml(std::string_view text,
                               const std::string& file_name) {
  if (auto refusal = refuse_unsafe_toml(text, file_name)) return *refusal;
  try {
    return document_of(toml::parse(text), file_name);
  } catch (const toml::parse_error& error) {
    return not_toml(text, error, file_name);
  }
}

TomlValue read_toml_value(std::string_view text) {
  if (auto value = value_in(text)) return *value;
  if (auto value = value_in(toml_string(text))) return *value;
  return {TomlOther{"too long, or not UTF-8"}};
}

std::string type_name(const TomlValue& value) {
  return std::visit(TypeName(), value.data);
}

std::string shown(const TomlValue& value) {
  return std::visit(ShownValue(), value.data);
}

std::string toml_string(std::string_view text) { return json_string(text); }

}  // namespace chimera
