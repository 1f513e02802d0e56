#include "chimera/config/parse.h"

#include "chimera/config/checks.h"
#include "chimera/config/fill.h"
#include "chimera/config/gather.h"
#include "chimera/config/paths.h"

namespace chimera {
namespace {

Draft parse_draft(std::string_view text, const std::string& file_name,
                  const std::vector<std::string>& overrides) {
  Draft draft = gather(text, file_name, overrides);
  if (!draft.unreadable) {
    fill_model(draft);
    check_together(draft);
  }
  return draft;
}

// Reports missing files. Usually the run does so when it opens them, but a
// mistake elsewhere keeps it from getting there.
void report_missing_inputs(Draft& draft) {
  for (const ConfigKey* key : missing_inputs(draft.config)) {
    draft.report(draft.place_of({full_name(*key)}),
                 missing_input(*key, draft.config));
  }
}

Result<RunConfig> finish(const Draft& draft) {
  Diagnostics diagnostics = draft.diagnostics();
  if (!diagnostics.empty()) return diagnostics;
  return draft.config;
}

}  // namespace

Result<RunConfig> parse_run_config(std::string_view text,
                                   const std::string& file_name,
                                   const std::vector<std::string>& overrides) {
  return finish(parse_draft(text, file_name, overrides));
}

Result<RunConfig> parse_training_config(
    std::string_view text, const std::string& file_name,
    const std::vector<std::string>& overrides) {
  Draft draft = parse_draft(text, file_name, overrides);
  if (draft.unreadable) return finish(draft);
  RunConfig config = draft.config;
  // If the kind is unknown, only keys that every kind needs can be reported as
  // missing.
  if (!draft.kind_known) config.model.kind = ModelKind::kEmulated;
  for (const std::string_view name : missing_for_training(config)) {
    draft.report_missing(name);
  }
  if (!draft.diagnostics().empty()) report_missing_inputs(draft);
  return finish(draft);
}

Diagnostics check_for_training(const RunConfig& config,
                               const std::string& file_name) {
  Diagnostics diagnostics;
  for (const std::string_view name : missing_for_training(config)) {
    diagnostics.push_back(missing_key(name));
    diagnostics.back().where = file_name;
  }
  return diagnostics;
}

}  // namespace chimera
