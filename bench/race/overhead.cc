// Measures the cost of the runtime itself: threads walk every scheme's lists
// over stages that compute nothing. Prints time and memory allocations per
// action, and whether boundary tensors are handed over or copied.
//   race_overhead [--quick]
//
// "core us" is wall time x the cores that the workers share, per action: the
// time of an action if all cores do nothing else. "CPU us" is the CPU time of
// the process. Every action of the lowered lists counts, also sends, posts,
// sums and votes.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstdlib>
#include <new>
#include <numeric>
#include <string_view>
#include <thread>
#include <utility>

#include "chimera/base/check.h"
#include "chimera/exec/run_threads.h"
#include "chimera/exec/worker.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"

namespace {

std::atomic<long> allocations = 0;
thread_local bool is_counted = false;

}  // namespace

void* operator new(std::size_t size) {
  if (is_counted) allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace chimera {
namespace {

// While an Uncounted exists, allocations are charged to compute and not
// counted.
class Uncounted {
 public:
  Uncounted() : before_(std::exchange(is_counted, false)) {}
  Uncounted(const Uncounted&) = delete;
  Uncounted& operator=(const Uncounted&) = delete;
  ~Uncounted() { is_counted = before_; }

 private:
  bool before_;
};

// A payload that remembers its original address, so that a copy can be
// recognised.
class EmptyPayload final : public Payload {
 public:
  std::span<std::byte> bytes() override { return data_; }
  [[nodiscard]] bool was_copied() const { return made_at_ != &data_; }

 private:
  std::array<std::byte, 64> data_ = {};
  const void* made_at_ = &data_;
};

class EmptyCompute final : public StageCompute {
 public:
  EmptyCompute(const Schedule& schedule, std::atomic<long>& copies)
      : stages_(schedule.stages()), copies_(copies) {}

  WeightsPtr initial_weights(int /*stage*/) override {
    return std::make_shared<Weights>();
  }
  ForwardResult forward(const Work& work, const WeightsPtr& /*weights*/,
                        PayloadPtr input, Keep /*keep*/) override {
    const Uncounted own;
    note(input);
    ForwardResult result{.stash = std::make_unique<Stash>()};
    if (work.stage + 1 < stages_) {
      result.output = std::make_unique<EmptyPayload>();
    }
    return result;
  }
  void recompute(const Work& /*work*/, Stash& /*stash*/) override {}
  PayloadPtr backward(const Work& work, Stash& /*stash*/,
                      PayloadPtr gradient) override {
    const Uncounted own;
    note(gradient);
    return work.stage == 0 ? nullptr : std::make_unique<EmptyPayload>();
  }
  PayloadPtr input_grad(const Work& work, Stash& stash,
                        PayloadPtr gradient) override {
    return backward(work, stash, std::move(gradient));
  }
  void weight_grad(const Work& /*work*/, Stash& /*stash*/) override {}
  NumberBuffer gradient(const SumGroup& group) override {
    return {&gradients_[group.members[0].stage % gradients_.size()], 1};
  }
  WeightsPtr update(const UpdateOrder& /*order*/,
                    const WeightsPtr& current) override {
    return current;
  }
  NumberBuffer updated_shards(const SumGroup& /*group*/,
                              int /*stage*/) override {
    return {};
  }
  Ballot ballot(int /*step*/, bool /*training*/) override { return {}; }
  PayloadPtr empty_payload(const Work& /*work*/,
                           bool /*is_gradient*/) override {
    return std::make_unique<EmptyPayload>();
  }

 private:
  void note(const PayloadPtr& payload) {
    if (!payload) return;
    if (dynamic_cast<EmptyPayload&>(*payload).was_copied()) ++copies_;
  }

  int stages_;
  std::atomic<long>& copies_;
  std::array<float, 64> gradients_ = {};
};

double cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return double(time.tv_sec) + 1e-6 * double(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Cost {
  double core_us = 0;
  double cpu_us = 0;
  double allocations = 0;
  long copies = 0;
};

Cost measure(const Schedule& lowered, int steps) {
  constexpr int kWarmUp = 2;
  std::atomic<long> copies = 0;
  Clock::time_point start;
  double cpu_start = 0;
  std::barrier warm(lowered.workers(), [&]() noexcept {
    allocations = 0;
    cpu_start = cpu_s();
    start = Clock::now();
  });
  run_workers(
      {.ranks = lowered.workers()},
      [&](int) { return std::make_unique<EmptyCompute>(lowered, copies); },
      [&](Transport& transport, StageCompute& compute) {
        Worker worker(transport, compute, {});
        const Program program(lowered, transport.rank());
        worker.run(program, {.end = kWarmUp});
        warm.arrive_and_wait();
        is_counted = true;
        worker.run(program, {.first = kWarmUp, .end = kWarmUp + steps});
        is_counted = false;
      });
  const std::chrono::duration<double> wall = Clock::now() - start;
  const double actions =
      static_cast<double>(steps) *
      std::accumulate(lowered.actions.begin(), lowered.actions.end(), 0.0,
                      [](double sum, const ActionList& list) {
                        return sum + static_cast<double>(list.size());
                      });
  const int cores =
      std::min(lowered.workers(), int(std::thread::hardware_concurrency()));
  return {.core_us = wall.count() * cores / actions * 1e6,
          .cpu_us = (cpu_s() - cpu_start) / actions * 1e6,
          .allocations = static_cast<double>(allocations) / actions,
          .copies = copies};
}

void print_row(const ScheduleSpec& spec, double most_actions) {
  const Schedule lowered = lower(make_schedule(spec).value());
  std::size_t actions = 0;
  for (const ActionList& list : lowered.actions) actions += list.size();
  const int steps =
      std::max(3, static_cast<int>(most_actions / double(actions)));
  const Cost cost = measure(lowered, steps);
  fmt::print("| {} | {} | {} | {} | {:.2f} | {:.2f} | {:.2f} | {} |\n",
             spec.scheme, spec.depth, spec.micros, actions, cost.core_us,
             cost.cpu_us, cost.allocations, cost.copies);
  std::fflush(stdout);
}

void print_table(bool quick) {
  fmt::print(
      "| scheme | D | N | actions a step | core us | CPU us | allocations | "
      "boundaries copied |\n|---|---|---|---|---|---|---|---|\n");
  for (const char* scheme : {"chimera", "planned"}) {
    for (const int depth : {2, 4, 8, 16, 32}) {
      for (const int micros : {depth, 4 * depth}) {
        if (quick && micros == depth && depth < 32) continue;
        print_row({.scheme = scheme, .depth = depth, .micros = micros},
                  quick ? 3e4 : 3e5);
      }
    }
  }
}

}  // namespace
}  // namespace chimera

int main(int argc, char** argv) {
  chimera::print_table(argc > 1 && std::string_view(argv[1]) == "--quick");
}
