// The files with which a tokenizer goes into a Hugging Face directory.
#pragma once

#include <string>
#include <vector>

#include "chimera/base/result.h"

namespace chimera {

struct ExportedFile {
  std::string name;  // in the directory
  std::string text;
};

// The files of the tokenizer at `path` (as open_tokenizer takes it), under the
// names that AutoTokenizer of transformers looks for. Adds what is missing of
// a tokenizer_config.json (class and end-of-text token) and a
// generation_config.json, with which generate() ends at the same token as
// `chimera sample`. A directory whose tokenizer Chimera cannot read is copied
// as it is; otherwise, refuses what open_tokenizer refuses.
[[nodiscard]] Result<std::vector<ExportedFile>> exported_files(
    const std::string& path);

}  // namespace chimera
