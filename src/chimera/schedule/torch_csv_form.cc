// Export for torch.distributed.pipelining. Its compute-only csv has one row per
// rank and cells <stage><kind><micro>; the kinds F, I, W and B (whole backward)
// have the same letters as here.
#include "chimera/schedule/cell.h"
#include "chimera/schedule/forms.h"

namespace chimera {
namespace {

Diagnostic unsayable(const std::string& found, const std::string& needed) {
  return {.code = "E108",
          .found = found,
          .needed = needed,
          .hint = "use --format csv or json, or a one-way scheme"};
}

}  // namespace

Result<std::string> to_torch_csv(const Schedule& schedule) {
  Diagnostics errors;
  if (schedule.pipes() > 1) {
    errors.push_back(unsayable(
        "a stage held by " + std::to_string(schedule.pipes()) + " workers",
        "cannot be expressed: torch places each stage on one rank"));
  }
  if (schedule.parts > 1) {
    errors.push_back(
        unsayable("a backward in two halves", "has no word in torch's csv"));
  }
  if (is_asynchronous(schedule)) {
    errors.push_back(
        unsayable("an update inside the step", "has no word in torch's csv"));
  }
  if (is_lowered(schedule)) {
    errors.push_back(
        {.code = "E108",
         .found = "a lowered schedule",
         .needed = "is not what torch reads: it adds messages itself",
         .hint = "leave --lowered out"});
  }
  if (!errors.empty()) return errors;
  return to_csv(schedule);
}

}  // namespace chimera
