// Reads any bytes as a schedule. validate must handle what is accepted; a valid
// schedule must be read back equal from every text form, and be lowered and
// simulated without a failed check.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "chimera/schedule/forms.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/validate.h"
#include "chimera/simulate/simulate.h"

namespace {

void must(bool condition) {
  if (!condition) std::abort();
}

void use_sound(const chimera::Schedule& schedule) {
  const auto from_json = chimera::parse_json(chimera::to_json(schedule), "j");
  must(from_json.ok() && *from_json == schedule);
  const auto from_sched =
      chimera::parse_sched(chimera::to_sched(schedule), "s");
  must(from_sched.ok() && from_sched->actions == schedule.actions);
  const bool lowered = chimera::is_lowered(schedule);
  const chimera::Schedule runnable =
      lowered ? schedule : chimera::lower(schedule);
  must(chimera::validate(runnable).empty());
  const chimera::Costs costs = chimera::uniform_costs(schedule, {});
  must(chimera::simulate(runnable, costs, {.steps = 2}).makespan > 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto schedule = chimera::parse_schedule(text, "fuzz");
  if (!schedule) {
    must(!schedule.errors().empty() && schedule.errors().size() <= 110);
    return 0;
  }
  if (chimera::validate(*schedule).empty()) use_sound(*schedule);
  return 0;
}
