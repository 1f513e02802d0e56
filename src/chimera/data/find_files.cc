#include "chimera/data/find_files.h"

#include <glob.h>

#include "chimera/base/text.h"

namespace chimera {
namespace {

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> files;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  return files;
}

}  // namespace

Result<std::vector<DataFile>> find_files(
    const std::vector<std::string>& paths) {
  std::vector<DataFile> files;
  Diagnostics errors;
  for (size_t entry = 0; entry < paths.size(); ++entry) {
    const std::string& path = paths[entry];
    if (path.find_first_of("*?[") == std::string::npos) {
      files.push_back({path, entry});
      continue;
    }
    const std::vector<std::string> found = matches(path);
    for (const std::string& file : found) files.push_back({file, entry});
    if (!found.empty()) continue;
    errors.push_back({.kind = DiagnosticKind::kData,
                      .code = "E501",
                      .where = path,
                      .found = "the pattern",
                      .needed = "fits no file",
                      .hint = "check the folder and the ending"});
  }
  if (!errors.empty()) return errors;
  return files;
}

}  // namespace chimera
