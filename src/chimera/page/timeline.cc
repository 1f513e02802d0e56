#include "chimera/page/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <numeric>

#include "chimera/base/files.h"
#include "chimera/page/json.h"
#include "chimera/trace/chrome_read.h"
#include "chimera/trace/merge.h"

namespace chimera {
namespace {

constexpr std::uintmax_t kMostTraceBytes = std::uintmax_t{256} << 20;

// Keeps only the events in `order`, in that order, and adjusts their causes and
// the critical path.
void keep_events(const std::vector<int>& order, Timeline& timeline) {
  std::vector<std::int32_t> place(timeline.trace.events.size(), kNone);
  std::vector<Event> kept;
  kept.reserve(order.size());
  for (const int index : order) {
    place[index] = static_cast<std::int32_t>(kept.size());
    kept.push_back(timeline.trace.events[index]);
  }
  for (Event& event : kept) {
    if (event.cause != kNone) event.cause = place[event.cause];
  }
  timeline.trace.events = std::move(kept);
  std::vector<int> path;
  for (const int index : timeline.path) {
    if (place[index] != kNone) path.push_back(place[index]);
  }
  timeline.path = std::move(path);
}

template <class Keep>
void keep_if(Timeline& timeline, const Keep& keep) {
  std::vector<int> order;
  for (std::size_t i = 0; i < timeline.trace.events.size(); ++i) {
    if (keep(timeline.trace.events[i])) order.push_back(static_cast<int>(i));
  }
  keep_events(order, timeline);
}

// Orders the events by worker and start, as the page expects them.
void sort_by_worker(Timeline& timeline) {
  const std::vector<Event>& events = timeline.trace.events;
  std::vector<int> order(events.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return std::tie(events[a].worker, events[a].start) <
           std::tie(events[b].worker, events[b].start);
  });
  keep_events(order, timeline);
}

struct Length {
  double start = std::numeric_limits<double>::infinity();
  double end = 0;

  [[nodiscard]] double value() const { return end - start; }
};

std::map<int, Length> step_lengths(const Trace& trace) {
  std::map<int, Length> lengths;
  for (const Event& event : trace.events) {
    if (event.action.op == Op::kN) continue;
    Length& length = lengths[event.step];
    length.start = std::min(length.start, event.start);
    length.end = std::max(length.end, event.end);
  }
  return lengths;
}

// One letter per op; messages in lower case.
char letter(Op op) {
  if (op == Op::kSF) return 'f';
  if (op == Op::kSB) return 'b';
  return op_name(op)[0];
}

bool fits(const Event& event, const Schedule& lowered) {
  const Action& action = event.action;
  const int ranks = lowered.workers() * lowered.width;
  const auto below = [](int id, int count) { return id >= 0 && id < count; };
  if (!below(event.worker, ranks)) return false;
  if (is_receive(action.op)) return false;
  if (action.op == Op::kN) return true;
  if (action.op == Op::kG) {
    return below(action.group, static_cast<int>(lowered.groups.size()));
  }
  if (!below(action.stage, lowered.stages())) return false;
  if (action.op == Op::kU) return true;
  return below(action.micro, lowered.micros) &&
         below(action.pipe, lowered.pipes()) && action.part < lowered.parts &&
         (!is_send(action.op) || below(action.peer, ranks));
}

}  // namespace

Timeline step_timeline(const Trace& trace, int step) {
  Timeline timeline{.trace = trace};
  keep_if(timeline, [&](const Event& event) { return event.step == step; });
  Trace& one = timeline.trace;
  one.steps = 1;
  double start = std::numeric_limits<double>::infinity();
  for (const Event& event : one.events) start = std::min(start, event.start);
  for (Event& event : one.events) {
    event.step = 0;
    event.start -= start;
    event.end -= start;
  }
  timeline.path = critical_path(one);
  sort_by_worker(timeline);
  return timeline;
}

Timeline whole_timeline(const Trace& trace) {
  Timeline timeline{.trace = trace, .path = critical_path(trace)};
  sort_by_worker(timeline);
  return timeline;
}

void shorten(Timeline& timeline, std::size_t most_events) {
  std::vector<Event>& events = timeline.trace.events;
  if (events.size() <= most_events) return;
  keep_if(timeline,
          [](const Event& event) { return !is_send(event.action.op); });
  timeline.are_messages_left_out = true;
  if (events.size() <= most_events) return;
  // Events are sorted by worker, so this keeps the first workers whole.
  const int workers = events[most_events].worker;
  keep_if(timeline, [&](const Event& event) { return event.worker < workers; });
  timeline.workers_left_out = timeline.trace.workers - workers;
  timeline.trace.workers = workers;
}

std::vector<Timeline> chosen_steps(const Trace& trace) {
  const std::map<int, Length> lengths = step_lengths(trace);
  if (lengths.empty()) return {};
  std::vector<std::pair<double, int>> by_length;
  by_length.reserve(lengths.size());
  for (const auto& [step, length] : lengths) {
    by_length.emplace_back(length.value(), step);
  }
  std::sort(by_length.begin(), by_length.end());
  struct Wanted {
    int step;
    const char* kind;
    const char* words;
  };
  const Wanted all_wanted[] = {
      {lengths.rbegin()->first, "last", "the last"},
      {by_length.back().second, "slowest", "the slowest"},
      {by_length[by_length.size() / 2].second, "median", "of median length"}};
  std::vector<Timeline> chosen;
  std::vector<int> taken;
  for (const auto& [step, kind, words] : all_wanted) {
    if (std::find(taken.begin(), taken.end(), step) != taken.end()) continue;
    taken.push_back(step);
    chosen.push_back(step_timeline(trace, step));
    chosen.back().kind = kind;
    chosen.back().title = fmt::format("step {}, {}", step + 1, words);
    if (lengths.size() > 1) {
      chosen.back().title += fmt::format(" of {} traced", lengths.size());
    }
  }
  return chosen;
}

std::string to_json(const Timeline& timeline) {
  const Trace& trace = timeline.trace;
  const double end = std::max(makespan(trace), 1e-300);
  const auto ticks = [&](double time) {
    return static_cast<int>(
        std::lround(std::clamp(time / end, 0.0, 2.0) * 1e6));
  };
  std::string ops;
  std::vector<int> rows, pipes, stages, micros, others, starts, lengths, causes;
  int previous_row = 0;
  int previous_start = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    const Action& action = event.action;
    if (event.worker != previous_row) previous_start = 0;
    ops += letter(action.op);
    rows.push_back(event.worker - previous_row);
    pipes.push_back(action.pipe);
    stages.push_back(action.stage);
    micros.push_back(action.micro);
    others.push_back(action.op == Op::kG ? action.group : action.peer);
    starts.push_back(ticks(event.start) - previous_start);
    lengths.push_back(ticks(event.end) - ticks(event.start));
    causes.push_back(event.cause == kNone ? 0
                                          : event.cause - static_cast<int>(i));
    previous_row = event.worker;
    previous_start = ticks(event.start);
  }
  return JsonObject()
      .text("title", timeline.title)
      .text("kind", timeline.kind)
      .number("makespan", end)
      .number("workers", trace.workers)
      .number("workersLeftOut", timeline.workers_left_out)
      .flag("messagesLeftOut", timeline.are_messages_left_out)
      .text("ops", ops)
      .json("rows", json_list(rows))
      .json("pipes", json_list(pipes))
      .json("stages", json_list(stages))
      .json("micros", json_list(micros))
      .json("others", json_list(others))
      .json("starts", json_list(starts))
      .json("lengths", json_list(lengths))
      .json("causes", json_list(causes))
      .json("path", json_list(timeline.path))
      .str();
}

Result<Trace> read_run_trace(const std::string& path, const Schedule& lowered) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (!error && bytes > kMostTraceBytes) {
    return Diagnostic{
        .code = "E101",
        .where = path,
        .found = fmt::format("{} MB", bytes >> 20),
        .needed = fmt::format("must be at most {} MB", kMostTraceBytes >> 20)};
  }
  const Result<std::string> text = read_file(path);
  if (!text) return text.errors();
  const Result<Trace> read = read_chrome_trace(*text, path, 1e6);
  if (!read) return read.errors();
  std::vector<std::vector<Event>> by_rank(read->workers);
  for (Event event : read->events) {
    if (!fits(event, lowered)) {
      return Diagnostic{.code = "E101",
                        .where = path,
                        .found = "an event of another schedule",
                        .needed = "must belong to schedule.sched"};
    }
    // merge_ranks expects peers numbered within their copy, as in a schedule.
    if (is_send(event.action.op)) event.action.peer %= lowered.workers();
    by_rank[event.worker].push_back(event);
  }
  return merge_ranks(lowered, by_rank, read->steps);
}

}  // namespace chimera
