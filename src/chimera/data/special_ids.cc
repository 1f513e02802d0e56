#include "chimera/data/special_ids.h"

#include "chimera/base/text.h"

namespace chimera {

SpecialIds special_ids(DataFormat format, int vocab) {
  constexpr SpecialIds kBertBaseUncased{
      .cls = 101, .sep = 102, .mask = 103, .pad = 0};
  constexpr SpecialIds kControlBytes{.cls = 1, .sep = 2, .mask = 3, .pad = 0};
  const bool has_them = vocab > kBertBaseUncased.mask;
  return format == DataFormat::kBin && has_them ? kBertBaseUncased
                                                : kControlBytes;
}

Result<SpecialIds> special_ids(const Tokenizer& tokenizer,
                               const std::string& path) {
  SpecialIds ids;
  std::vector<std::string> missing;
  const auto find = [&](const char* token, int& id) {
    const auto found = tokenizer.find(token);
    if (found) {
      id = static_cast<int>(*found);
    } else {
      missing.emplace_back(token);
    }
  };
  find("[CLS]", ids.cls);
  find("[SEP]", ids.sep);
  find("[MASK]", ids.mask);
  find("[PAD]", ids.pad);
  if (missing.empty()) return ids;
  return Diagnostic{
      .kind = DiagnosticKind::kData,
      .code = "E506",
      .where = path,
      .found = "the tokenizer",
      .needed = "has no " + join(missing, ", ") + ", which BERT's pairs need",
      .hint = "use the tokenizer of a BERT model"};
}

}  // namespace chimera
