#include "tests/device/order_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chimera::testing {
namespace {

void join(VectorClock& clock, const VectorClock& other) {
  for (const auto& [stream, number] : other) {
    clock[stream] = std::max(clock[stream], number);
  }
}

std::uint64_t count(const VectorClock& clock, int stream) {
  const auto found = clock.find(stream);
  return found == clock.end() ? 0 : found->second;
}

bool overlap(const Use& a, const Use& b) {
  return a.begin < b.end && b.begin < a.end;
}

bool covers(const Use& a, const Use& b) {
  return a.begin <= b.begin && b.end <= a.end;
}

std::string stream_name(int stream) {
  return fmt::format("stream {} of device {}", stream % kStreamsPerDevice,
                     device_of_stream(stream));
}

}  // namespace

void OrderChecker::set_action_source(
    std::function<std::string(int index)> source) {
  const std::lock_guard lock(mutex_);
  action_source_ = std::move(source);
}

void OrderChecker::report(int stream, const std::string& text) {
  const std::string action =
      action_source_ ? action_source_(device_of_stream(stream)) : "";
  reports_.push_back(action.empty() ? text : text + "; during " + action);
}

void OrderChecker::allocated(const std::byte* begin, std::size_t size,
                             int stream) {
  const std::lock_guard lock(mutex_);
  blocks_[begin] = {.size = size, .stream = stream};
}

void OrderChecker::freed(const std::byte* begin) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(begin);
  if (found == blocks_.end()) return;
  const Block& block = found->second;
  for (const Access& access : block.accesses) {
    if (is_behind(block.stream, access)) continue;
    report(block.stream,
           fmt::format("memory of {} is freed before its last use: {} on {}",
                       stream_name(block.stream), access.name,
                       stream_name(access.stream)));
  }
  blocks_.erase(found);
}

// Also true if the host knows that the access is done, because the host queues
// everything after that.
bool OrderChecker::is_behind(int stream, const Access& access) const {
  if (stream == access.stream) return true;
  const auto clock = streams_.find(stream);
  if (clock != streams_.end() &&
      count(clock->second, access.stream) >= access.number) {
    return true;
  }
  const auto host = hosts_.find(std::this_thread::get_id());
  return host != hosts_.end() &&
         count(host->second, access.stream) >= access.number;
}

OrderChecker::Block* OrderChecker::block_of(const std::byte* place) {
  auto next = blocks_.upper_bound(place);
  if (next == blocks_.begin()) return nullptr;
  const auto& [begin, block] = *--next;
  return place < begin + block.size ? &next->second : nullptr;
}

std::uint64_t OrderChecker::launch(int stream, const std::string& name,
                                   const std::vector<Use>& uses) {
  const std::lock_guard lock(mutex_);
  VectorClock& clock = streams_[stream];
  join(clock, hosts_[std::this_thread::get_id()]);
  const std::uint64_t number = ++clock[stream];
  for (const Use& use : uses) {
    if (use.begin == use.end) continue;
    Block* block = block_of(use.begin);
    if (block == nullptr) {
      report(stream, name + " uses memory that is freed");
      continue;
    }
    check(*block, {use, stream, number, name});
  }
  return number;
}

void OrderChecker::check(Block& block, const Access& access) {
  bool is_clean = true;
  for (const Access& other : block.accesses) {
    if (!overlap(access.use, other.use)) continue;
    if (!access.use.writes && !other.use.writes) continue;
    if (is_behind(access.stream, other)) continue;
    is_clean = false;
    report(access.stream,
           fmt::format("{} on {} {} what {} on {} {}, and does not wait for it",
                       access.name, stream_name(access.stream),
                       access.use.writes ? "writes" : "reads", other.name,
                       stream_name(other.stream),
                       other.use.writes ? "has written" : "reads"));
  }
  // Drops accesses that the new one makes redundant: what comes behind a clean
  // write is behind all accesses before it; what comes behind a read is behind
  // earlier reads of the same stream.
  std::erase_if(block.accesses, [&](const Access& other) {
    if (!covers(access.use, other.use)) return false;
    if (access.use.writes) return is_clean;
    return !other.use.writes && other.stream == access.stream;
  });
  block.accesses.push_back(access);
}

VectorClock OrderChecker::record(int stream) {
  const std::lock_guard lock(mutex_);
  join(streams_[stream], hosts_[std::this_thread::get_id()]);
  return streams_[stream];
}

void OrderChecker::wait(int stream, const VectorClock& event) {
  const std::lock_guard lock(mutex_);
  join(streams_[stream], event);
}

void OrderChecker::host_wait(int device, const VectorClock& event) {
  const std::lock_guard lock(mutex_);
  ++host_waits_[device];
  join(hosts_[std::this_thread::get_id()], event);
}

void OrderChecker::host_knows(const VectorClock& event) {
  const std::lock_guard lock(mutex_);
  join(hosts_[std::this_thread::get_id()], event);
}

bool OrderChecker::is_known(int stream, std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  return std::any_of(hosts_.begin(), hosts_.end(), [&](const auto& host) {
    return count(host.second, stream) >= number;
  });
}

void OrderChecker::host_touched(const std::byte* place,
                                const std::string& what) {
  const std::lock_guard lock(mutex_);
  const Block* block = block_of(place);
  std::string text = "the host touches " + what;
  if (block != nullptr && !block->accesses.empty()) {
    text += ", last used by " + block->accesses.back().name;
  }
  report(block != nullptr ? block->stream : 0, text);
}

std::vector<std::string> OrderChecker::take_reports() {
  const std::lock_guard lock(mutex_);
  return std::exchange(reports_, {});
}

std::int64_t OrderChecker::host_waits(int device) {
  const std::lock_guard lock(mutex_);
  return host_waits_[device];
}

void OrderChecker::reset_host_waits() {
  const std::lock_guard lock(mutex_);
  host_waits_.clear();
}

}  // namespace chimera::testing
