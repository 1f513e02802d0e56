#include "chimera/tokenizer/corpus/json_line.h"

namespace chimera {

std::optional<std::string> read_line_text(JsonReader& reader) {
  std::optional<std::string> text;
  bool found = false;
  reader.object("the line", [&](const std::string& key) {
    if (key == "text") {
      found = true;
      text = reader.string(key);
    } else {
      reader.skip();
    }
  });
  if (!found && !reader.failed()) {
    reader.refuse("E509", "a line without \"text\"", "cannot be tokenized",
                  "write {\"text\": \"...\"}");
  }
  return text;
}

}  // namespace chimera
