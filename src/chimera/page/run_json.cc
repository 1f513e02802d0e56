#include "chimera/page/run_json.h"

#include <array>

#include "chimera/page/escape.h"
#include "chimera/page/facts.h"
#include "chimera/page/json.h"

namespace chimera {
namespace {

// Stores steps as differences, because most of them are 1.
std::string curve_json(const Curve& curve, int from) {
  std::vector<int> steps;
  std::vector<double> values;
  int previous = 0;
  for (const CurvePoint& point : curve.points(from)) {
    steps.push_back(point.step - previous);
    values.push_back(point.value);
    previous = point.step;
  }
  return JsonObject()
      .number("group", curve.group_size())
      .number("from", curve.group_start(from))
      .json("steps", json_list(steps))
      .json("values", json_list(values))
      .str();
}

std::string curves_json(const Metrics& metrics, int from) {
  JsonObject curves;
  for (std::size_t i = 0; i < kCurveNames.size(); ++i) {
    if (metrics.curve(i).is_flat_zero()) continue;
    curves.json(kCurveNames[i].key, curve_json(metrics.curve(i), from));
  }
  return curves.str();
}

std::string facts_json(const RunRecord& record, const Metrics& metrics) {
  std::vector<std::string> items;
  for (const Fact& fact : facts_of(record, metrics)) {
    items.push_back(json_list(std::vector<std::string>{
        script_string(fact.group), script_string(fact.label),
        script_string(fact.value), fact.is_headline ? "true" : "false"}));
  }
  return json_list(items);
}

std::string marks_json(const RunRecord& record, const Metrics& metrics) {
  std::vector<std::string> items;
  for (const std::vector<Mark>* marks : {&record.marks, &metrics.marks()}) {
    for (const Mark& mark : *marks) {
      items.push_back(json_list(std::vector<std::string>{
          std::to_string(mark.step), script_string(mark.kind),
          script_string(mark.text)}));
    }
  }
  return json_list(items);
}

const char* reason_name(WaitReason reason) {
  constexpr std::array<const char*, 6> kNames = {
      "activation", "gradient", "sum", "vote", "rest", "ended"};
  return kNames[static_cast<std::size_t>(reason)];
}

std::string times_json(const std::vector<WorkerTime>& times) {
  std::vector<std::string> items;
  for (const WorkerTime& time : times) {
    std::vector<std::string> waits;
    for (const Wait& wait : time.waits) {
      waits.push_back(json_list(std::vector<std::string>{
          script_string(reason_name(wait.reason)), std::to_string(wait.worker),
          json_number(wait.time)}));
    }
    items.push_back(JsonObject()
                        .number("forward", time.forward)
                        .number("backward", time.backward)
                        .number("recompute", time.recompute)
                        .number("update", time.update)
                        .json("waits", json_list(waits))
                        .str());
  }
  return json_list(items);
}

std::string predicted_json(const std::vector<WorkerBytes>& workers) {
  std::vector<std::string> items;
  items.reserve(workers.size());
  for (const WorkerBytes& bytes : workers) {
    items.push_back(JsonObject()
                        .number("weights", bytes.weights)
                        .number("gradients", bytes.gradients)
                        .number("optimizer", bytes.optimizer)
                        .number("activations", bytes.activations)
                        .number("other", bytes.boundary + bytes.workspace +
                                             bytes.checkpoint + bytes.undo)
                        .str());
  }
  return json_list(items);
}

// [rank]: the host's name, if known.
std::string hosts_json(const RunRecord& record) {
  constexpr int kMostRanks = 1 << 20;
  std::vector<std::string> names;
  for (const Host& host : record.machine.hosts) {
    for (const int rank : host.ranks) {
      if (rank < 0 || rank >= kMostRanks) continue;
      names.push_back(json_list(std::vector<std::string>{
          std::to_string(rank), script_string(host.name)}));
    }
  }
  return json_list(names);
}

// The members that both forms have.
JsonObject changing(const RunRecord& record, const Metrics& metrics, int from) {
  JsonObject json;
  json.text("state", record.state.state)
      .number("steps", metrics.steps())
      .json("facts", facts_json(record, metrics))
      .json("marks", marks_json(record, metrics))
      .json("curves", curves_json(metrics, from));
  return json;
}

}  // namespace

std::string curve_names_json() {
  std::vector<std::string> items;
  items.reserve(kCurveNames.size());
  for (const CurveName& curve : kCurveNames) {
    items.push_back(JsonObject()
                        .text("key", curve.key)
                        .text("title", curve.title)
                        .text("unit", curve.unit)
                        .str());
  }
  return json_list(items);
}

std::string update_json(const RunRecord& record, const Metrics& metrics,
                        int from) {
  return changing(record, metrics, from).str();
}

std::string run_json(const RunRecord& record, const Metrics& metrics,
                     const std::string& version) {
  std::vector<std::string> timelines;
  for (const Timeline& timeline : record.timelines) {
    timelines.push_back(to_json(timeline));
  }
  std::vector<std::string> notes;
  for (const std::string& note : record.notes) {
    notes.push_back(script_string(note));
  }
  return changing(record, metrics, 0)
      .text("version", version)
      .text("name", record.name)
      .text("path", record.path)
      .text("timeUnit", record.time_unit)
      .json("timelines", json_list(timelines))
      .json("plannedTimes", times_json(record.planned_times))
      .json("measuredTimes", times_json(record.measured_times))
      .json("predictedBytes", predicted_json(record.predicted_bytes))
      .json("measuredBytes", json_list(record.memory.peak_bytes))
      .json("hosts", hosts_json(record))
      .json("notes", json_list(notes))
      .text("config", record.config_text)
      .text("schedule", record.schedule_text)
      .str();
}

}  // namespace chimera
