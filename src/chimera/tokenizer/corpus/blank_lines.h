// Finds the documents of a text that are separated by blank lines, which have
// only spaces, tabs and carriage returns.
#pragma once

#include <string_view>
#include <vector>

namespace chimera {

// The documents of `text`, each from its first line to the end of its last one
// (without the line break). None of them is blank.
[[nodiscard]] std::vector<std::string_view> split_at_blanks(
    std::string_view text);

// The end of the last blank line in `text` that ends in a line break and
// follows a document; 0 if there is none. The text before it consists of whole
// documents, whatever follows.
[[nodiscard]] size_t last_document_end(std::string_view text);

}  // namespace chimera
