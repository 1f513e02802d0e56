// A reader for the XML that this module writes: elements, quoted attributes,
// text and the entities it needs; nothing else is taken for well formed. (Not
// <regex>: gcc 12 warns inside it under sanitizers.)
#pragma once

#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace chimera {

struct XmlElement {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;
  int parent = -1;  // index; -1 for the root

  [[nodiscard]] std::string attribute(const std::string& key) const {
    const auto found = attributes.find(key);
    return found == attributes.end() ? "" : found->second;
  }
};

class XmlReader {
 public:
  explicit XmlReader(std::string_view xml) : rest_(xml) {
    while (fault_.empty() && !rest_.empty()) read_piece();
    if (fault_.empty() && open_ != -1) fault_ = "unclosed element";
  }

  // Why the text is not well formed; empty if it is.
  [[nodiscard]] const std::string& fault() const { return fault_; }
  [[nodiscard]] const std::vector<XmlElement>& elements() const {
    return elements_;
  }

 private:
  void read_piece() {
    if (take("</")) {
      read_end_tag();
    } else if (take("<")) {
      read_start_tag();
    } else {
      const std::string_view text = take_until('<');
      check_entities(text);
      if (open_ != -1) elements_[open_].text += text;
    }
  }

  void read_start_tag() {
    XmlElement element;
    element.name = take_name();
    element.parent = open_;
    while (take(" ")) {
      const std::string key(take_name());
      if (!take("=\"")) return fail("attribute without a value");
      const std::string_view value = take_until('"');
      check_entities(value);
      if (!take("\"")) return fail("attribute without an end");
      if (!element.attributes.emplace(key, value).second) fail("twice " + key);
    }
    elements_.push_back(element);
    const bool is_empty = take("/>");
    if (!is_empty && !take(">")) return fail("tag without an end");
    if (!is_empty) open_ = static_cast<int>(elements_.size()) - 1;
  }

  void read_end_tag() {
    const std::string_view name = take_name();
    if (!take(">")) return fail("tag without an end");
    if (open_ == -1 || elements_[open_].name != name) {
      return fail("unopened " + std::string(name));
    }
    open_ = elements_[open_].parent;
  }

  void check_entities(std::string_view text) {
    for (size_t at = 0; (at = text.find_first_of("&<>", at)) != text.npos;
         ++at) {
      bool is_known = false;
      for (const char* entity : {"&amp;", "&lt;", "&gt;", "&quot;"}) {
        is_known |= text.substr(at).starts_with(entity);
      }
      if (!is_known) fail("bad text: " + std::string(text));
    }
  }

  bool take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  std::string_view take_until(char stop) {
    const std::string_view taken = rest_.substr(0, rest_.find(stop));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view take_name() {
    size_t size = 0;
    while (size < rest_.size() &&
           (std::isalnum(rest_[size]) != 0 || rest_[size] == '-')) {
      ++size;
    }
    if (size == 0) fail("a name is missing");
    const std::string_view name = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return name;
  }

  void fail(const std::string& reason) {
    if (!fault_.empty()) return;
    fault_ = reason + " before: " + std::string(rest_.substr(0, 60));
  }

  std::string_view rest_;
  std::vector<XmlElement> elements_;
  int open_ = -1;
  std::string fault_;
};

}  // namespace chimera
