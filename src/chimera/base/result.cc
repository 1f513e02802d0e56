#include "chimera/base/result.h"

namespace chimera {

std::string to_string(const Diagnostic& diagnostic) {
  std::string text = "error[" + diagnostic.code + "]";
  if (!diagnostic.where.empty()) text += " " + diagnostic.where;
  text += ": " + diagnostic.found;
  if (!diagnostic.needed.empty()) text += " " + diagnostic.needed;
  if (!diagnostic.hint.empty()) text += "; hint: " + diagnostic.hint;
  return text;
}

}  // namespace chimera
