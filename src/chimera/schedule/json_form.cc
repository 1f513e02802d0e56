// Writes the JSON form (docs/schedule-format.md); json_reader.cc reads it.
#include "chimera/base/text.h"
#include "chimera/schedule/forms.h"

namespace chimera {
namespace {

void add_field(std::string& out, std::string_view name, int value) {
  out += ",\"";
  out += name;
  out += "\":";
  out += std::to_string(value);
}

// Writes one action without the fields it does not have; part and step are left
// out if 0.
void add_action(std::string& out, const Action& action) {
  out += "{\"op\":\"";
  out += op_name(action.op);
  out += '"';
  if (action.pipe != kNone) add_field(out, "pipe", action.pipe);
  if (action.stage != kNone) add_field(out, "stage", action.stage);
  if (action.micro != kNone) add_field(out, "micro", action.micro);
  if (action.part != 0) add_field(out, "part", action.part);
  if (action.step != 0) add_field(out, "step", action.step);
  if (action.peer != kNone) add_field(out, "peer", action.peer);
  if (action.group != kNone) add_field(out, "group", action.group);
  out += '}';
}

template <class Items, class Add>
void add_array(std::string& out, const Items& items, std::string_view between,
               const Add& add) {
  out += '[';
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += between;
    first = false;
    add(item);
  }
  out += ']';
}

void add_group(std::string& out, const SumGroup& group) {
  out += "{\"id\":" + std::to_string(group.id) + ",\"members\":";
  add_array(out, group.members, ",", [&](const Member& member) {
    out += "{\"pipe\":" + std::to_string(member.pipe) +
           ",\"stage\":" + std::to_string(member.stage) + "}";
  });
  out += '}';
}

}  // namespace

std::string to_json(const Schedule& schedule) {
  std::string out = "{\"format\":\"chimera-schedule-1\",\"scheme\":" +
                    json_string(schedule.scheme);
  add_field(out, "depth", schedule.depth);
  add_field(out, "micros", schedule.micros);
  add_field(out, "pipes", schedule.pipes());
  add_field(out, "stages", schedule.stages());
  add_field(out, "workers", schedule.workers());
  add_field(out, "width", schedule.width);
  add_field(out, "parts", schedule.parts);
  if (schedule.recomputed_layers > 0) {
    add_field(out, "recompute", schedule.recomputed_layers);
  }
  out += ",\n \"placement\":";
  add_array(out, schedule.placement.worker_of, ",",
            [&](const std::vector<int>& row) {
              add_array(out, row, ",",
                        [&](int worker) { out += std::to_string(worker); });
            });
  out += ",\n \"actions\":";
  add_array(out, schedule.actions, ",\n  ", [&](const ActionList& list) {
    add_array(out, list, ",",
              [&](const Action& action) { add_action(out, action); });
  });
  if (is_lowered(schedule)) {
    out += ",\n \"groups\":";
    add_array(out, schedule.groups, ",",
              [&](const SumGroup& group) { add_group(out, group); });
  }
  return out + "}\n";
}

}  // namespace chimera
