// Format:
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
// ("Trace Event Format"), the JSON array form.
//   pid = worker; tid = one track each for compute, sums and the vote, and one
//   for each peer that the worker sends to. Slices on one track may not
//   overlap, so messages that are in flight together (latency does not occupy
//   a link) are spread over several lanes of their track.
#include "chimera/trace/chrome.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>

#include "chimera/base/text.h"

namespace chimera {
namespace {

constexpr int kComputeTrack = 0;
constexpr int kSumTrack = 1;
constexpr int kVoteTrack = 2;
constexpr int kFirstLinkTrack = 3;

int track_of(const Event& event) {
  if (is_send(event.action.op)) return kFirstLinkTrack + event.action.peer;
  if (event.action.op == Op::kG) return kSumTrack;
  return event.action.op == Op::kN ? kVoteTrack : kComputeTrack;
}

struct Lane {
  int worker;
  int track;
  int lane;

  auto operator<=>(const Lane&) const = default;
};

std::string lane_name(const Lane& lane) {
  std::string name =
      "to worker " + std::to_string(lane.track - kFirstLinkTrack);
  if (lane.track == kComputeTrack) name = "compute";
  if (lane.track == kSumTrack) name = "sums";
  if (lane.track == kVoteTrack) name = "vote";
  if (lane.lane > 0) name += " (" + std::to_string(lane.lane + 1) + ")";
  return name;
}

// The lane of each event: the first lane of its track that is free when the
// event starts.
std::vector<Lane> assign_lanes(const Trace& trace) {
  std::vector<int> order(trace.events.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return trace.events[a].start < trace.events[b].start;
  });
  std::map<std::pair<int, int>, std::vector<double>> free_at;
  std::vector<Lane> lanes(trace.events.size());
  for (const int i : order) {
    const Event& event = trace.events[i];
    std::vector<double>& ends = free_at[{event.worker, track_of(event)}];
    const auto free = std::find_if(ends.begin(), ends.end(), [&](double end) {
      return end <= event.start;
    });
    lanes[i] = {event.worker, track_of(event),
                static_cast<int>(free - ends.begin())};
    if (free == ends.end()) {
      ends.push_back(event.end);
    } else {
      *free = event.end;
    }
  }
  return lanes;
}

// The message a compute consumes: (worker, step, forward?, stage, micro, part).
// Copies send the same message in the same step, so the worker is what tells
// them apart.
using Input = std::tuple<int, int, bool, int, int, int>;

Input input_of(const Event& compute) {
  const Action& action = compute.action;
  return {compute.worker, compute.step, action.op == Op::kF,
          action.stage,   action.micro, action.part};
}

Input input_carried_by(const Event& message) {
  const Action& action = message.action;
  const bool forward = action.op == Op::kSF;
  return {action.peer,  message.step,
          forward,      action.stage + (forward ? 1 : -1),
          action.micro, action.part};
}

std::string event_name(const Action& action) {
  std::string name(op_name(action.op));
  if (action.op == Op::kG) return "sum " + std::to_string(action.group);
  if (action.op == Op::kN) return "vote";
  if (action.micro != kNone) name += std::to_string(action.micro);
  return name;
}

class ChromeWriter {
 public:
  ChromeWriter(const Trace& trace, double us_per_unit, std::ostream& out)
      : trace_(trace),
        scale_(us_per_unit),
        out_(out),
        lanes_(assign_lanes(trace)) {
    for (const Lane& lane : lanes_) tids_.emplace(lane, 0);
    int next = 0;
    for (auto& [lane, tid] : tids_) tid = next++;
  }

  void run() {
    out_ << "[";
    name_tracks();
    for (size_t i = 0; i < trace_.events.size(); ++i) write_slice(i);
    write_arrows();
    out_ << "\n]\n";
  }

 private:
  // Writes a comma before every record but the first, so that every line is a
  // complete record.
  std::ostream& record() {
    out_ << (first_ ? "\n" : ",\n");
    first_ = false;
    return out_;
  }

  [[nodiscard]] std::string us(double time) const {
    return number(time * scale_);
  }

  void name_tracks() {
    for (int worker = 0; worker < trace_.workers; ++worker) {
      record() << R"({"ph":"M","name":"process_name","pid":)" << worker
               << R"(,"args":{"name":"worker )" << worker << R"("}})";
      record() << R"({"ph":"M","name":"process_sort_index","pid":)" << worker
               << R"(,"args":{"sort_index":)" << worker << "}}";
    }
    for (const auto& [lane, tid] : tids_) {
      record() << R"({"ph":"M","name":"thread_name","pid":)" << lane.worker
               << R"(,"tid":)" << tid << R"(,"args":{"name":")"
               << lane_name(lane) << R"("}})";
      record() << R"({"ph":"M","name":"thread_sort_index","pid":)"
               << lane.worker << R"(,"tid":)" << tid
               << R"(,"args":{"sort_index":)" << tid << "}}";
    }
  }

  void write_slice(size_t i) {
    const Event& event = trace_.events[i];
    const Action& action = event.action;
    record() << R"({"ph":"X","name":")" << event_name(action) << R"(","cat":")"
             << op_name(action.op) << R"(","pid":)" << event.worker
             << R"(,"tid":)" << tids_[lanes_[i]] << R"(,"ts":)"
             << us(event.start) << R"(,"dur":)" << us(event.end - event.start)
             << R"(,"args":{"step":)" << event.step;
    if (action.pipe != kNone) out_ << R"(,"pipe":)" << action.pipe;
    if (action.stage != kNone) out_ << R"(,"stage":)" << action.stage;
    if (action.micro != kNone) out_ << R"(,"micro":)" << action.micro;
    if (action.part != 0) out_ << R"(,"part":)" << int{action.part};
    out_ << "}}";
  }

  // Draws an arrow from every message to the compute that consumes it.
  void write_arrows() {
    std::map<Input, size_t> takers;
    for (size_t i = 0; i < trace_.events.size(); ++i) {
      const Op op = trace_.events[i].action.op;
      if (op == Op::kF || gives_gradient(op)) {
        takers.emplace(input_of(trace_.events[i]), i);
      }
    }
    for (size_t i = 0; i < trace_.events.size(); ++i) {
      if (!is_send(trace_.events[i].action.op)) continue;
      const auto taker = takers.find(input_carried_by(trace_.events[i]));
      if (taker != takers.end()) write_arrow(i, taker->second);
    }
  }

  void write_arrow(size_t message, size_t taker) {
    const Event& from = trace_.events[message];
    const Event& to = trace_.events[taker];
    record() << R"({"ph":"s","name":"message","cat":"message","id":)" << message
             << R"(,"pid":)" << from.worker << R"(,"tid":)"
             << tids_[lanes_[message]] << R"(,"ts":)" << us(from.start) << "}";
    record() << R"({"ph":"f","bp":"e","name":"message","cat":"message","id":)"
             << message << R"(,"pid":)" << to.worker << R"(,"tid":)"
             << tids_[lanes_[taker]] << R"(,"ts":)" << us(to.start) << "}";
  }

  const Trace& trace_;
  double scale_;
  std::ostream& out_;
  std::vector<Lane> lanes_;  // [event]
  std::map<Lane, int> tids_;
  bool first_ = true;
};

}  // namespace

void write_chrome_trace(const Trace& trace, double us_per_unit,
                        std::ostream& out) {
  ChromeWriter(trace, us_per_unit, out).run();
}

}  // namespace chimera
