#include "chimera/report/label.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "chimera/base/text.h"

namespace chimera {

std::string event_label(const Action& action, bool halves) {
  std::string label(op_name(action.op));
  if (halves && is_backward(action.op)) {
    label[0] = static_cast<char>(std::tolower(label[0]));
  }
  const int index = action.op == Op::kG ? action.group : action.micro;
  if (index != kNone) label += std::to_string(index);
  return label;
}

std::string_view op_words(Op op, bool halves) {
  static constexpr std::string_view kWords[kNumOps] = {"forward",
                                                       "backward",
                                                       "input gradient",
                                                       "weight gradient",
                                                       "update",
                                                       "recompute",
                                                       "receive",
                                                       "receive",
                                                       "send",
                                                       "send",
                                                       "gradient sum",
                                                       "vote",
                                                       "wait for the vote"};
  if (halves && op == Op::kB) return "half backward";
  return kWords[static_cast<int>(op)];
}

std::string describe(const Event& event) {
  const Action& action = event.action;
  std::string text(op_name(action.op));
  const auto add = [&text](std::string_view name, int value) {
    if (value != kNone) text += fmt::format(" {} {},", name, value);
  };
  add("micro", action.micro);
  if (action.part > 0) add("part", action.part);
  add("stage", action.stage);
  add("pipe", action.pipe);
  add("group", action.group);
  return text + fmt::format(" worker {}: {:.6g} - {:.6g}", event.worker,
                            event.start, event.end);
}

std::string route_words(const PipeRoute& route) {
  if (route.first_worker == kNone) return {};
  return fmt::format("P{} to P{}", route.first_worker, route.last_worker);
}

std::string ranges(const std::vector<int>& values) {
  constexpr size_t kMostRanges = 4;
  std::vector<std::string> parts;
  for (size_t first = 0; first < values.size();) {
    if (parts.size() == kMostRanges) {
      parts.emplace_back("...");
      break;
    }
    size_t last = first;
    while (last + 1 < values.size() && values[last + 1] == values[last] + 1) {
      ++last;
    }
    parts.push_back(last == first
                        ? std::to_string(values[first])
                        : fmt::format("{}-{}", values[first], values[last]));
    first = last + 1;
  }
  return join(parts, ", ");
}

namespace {

// The smallest of ..., 0.5, 1, 2, 5, 10, 20, ... that is at least `least`.
double round_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

// The widest label of an axis with this step: a fraction such as "0.25", or the
// last tick, such as "1000".
double label_room(double step, double end) {
  const double last = std::floor(end / step) * step;
  return static_cast<double>(
      std::max(number(step).size(), number(last).size()) + 2);
}

}  // namespace

std::vector<Tick> axis_ticks(double end, double characters) {
  std::vector<Tick> ticks;
  if (!(end > 0) || !(characters > 0)) return ticks;
  double step = round_step(3 / characters);
  while (step <= end && step * characters < label_room(step, end)) {
    step = round_step(step * 1.5);
  }
  const int last = static_cast<int>(std::floor(end / step * (1 + 1e-9)));
  for (int i = 0; i <= last; ++i) ticks.push_back({i * step, number(i * step)});
  return ticks;
}

}  // namespace chimera
