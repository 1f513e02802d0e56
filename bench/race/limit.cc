// Measures the most that two cores can do: each computes whole micro-batches of
// the whole model, forward and backward, without waiting, and updates half of
// the weights. Both compute at the same time, so they share caches and memory
// as in a real run.
//   race_limit run.toml [section.key=value]...
//
// The run.toml describes one core's part: depth 1 and half of the
// micro-batches. The time inside compute counts, and half of the time inside
// the update.
#include <cstdlib>
#include <numeric>
#include <thread>

#include "bench/race/blocks.h"
#include "chimera/exec/run_threads.h"
#include "chimera/exec/worker.h"

namespace chimera {
namespace {

constexpr int kCores = 2;

// Trains the model of one core and times its blocks of steps.
class Core {
 public:
  explicit Core(const RunSetup& setup)
      : compute_(
            compute_options(setup, formats_of(setup.config.train.precision))),
        program_(setup.schedule, 0) {}

  // Runs blocks of steps until a block has none. `meet` waits for the next
  // block and returns its number of steps.
  template <class Meet>
  void run(const Meet& meet) {
    run_workers(
        {.ranks = 1}, [this](int) { return make_torch_compute(compute_, 0); },
        [&](Transport& transport, StageCompute& compute) {
          Worker worker(transport, compute,
                        {.recorder = {.keep_events = true},
                         .on_vote = [this](const VoteResult& vote) {
                           losses_.push_back(vote.ballot.loss);
                         }});
          int step = 0;
          while (const int steps = meet()) {
            losses_.clear();
            worker.recorder().forget(/*keep=*/true);
            step = worker.run(program_, {.first = step, .end = step + steps});
            busy_s_ = busy(worker.recorder().events());
          }
        });
  }

  [[nodiscard]] double busy_s() const { return busy_s_; }
  [[nodiscard]] const std::vector<double>& losses() const { return losses_; }

 private:
  static double busy(const std::vector<Event>& events) {
    double sum = 0;
    for (const Event& event : events) {
      const Op op = event.action.op;
      const double length = event.end - event.start;
      if (op == Op::kF || op == Op::kB) sum += length;
      if (op == Op::kU) sum += length / kCores;
    }
    return sum;
  }

  TorchComputeOptions compute_;
  Program program_;
  double busy_s_ = 0;
  std::vector<double> losses_;
};

// A barrier at which the cores wait for each other and for the next block.
class MeetingPoint {
 public:
  explicit MeetingPoint(std::vector<Core>& cores) : cores_(cores) {}

  int meet() {
    std::unique_lock lock(mutex_);
    const int round = round_;
    if (++here_ == kCores) {
      if (round > 0) print();
      steps_ = read_block();
      here_ = 0;
      ++round_;
      all_here_.notify_all();
    }
    all_here_.wait(lock, [&] { return round_ != round; });
    return steps_;
  }

 private:
  void print() const {
    const double sum = std::accumulate(
        cores_.begin(), cores_.end(), 0.0,
        [](double so_far, const Core& core) { return so_far + core.busy_s(); });
    print_block({.seconds = sum / kCores, .losses = cores_[0].losses()});
  }

  std::vector<Core>& cores_;
  std::mutex mutex_;
  std::condition_variable all_here_;
  int here_ = 0;
  int round_ = 0;
  int steps_ = 0;
};

int run(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    std::cerr << "usage: race_limit run.toml [section.key=value]...\n";
    return 2;
  }
  const auto setup = set_up_race(
      arguments[0], {std::next(arguments.begin()), arguments.end()});
  if (!setup) return 2;
  std::vector<Core> cores;
  for (int core = 0; core < kCores; ++core) cores.emplace_back(*setup);
  MeetingPoint point(cores);
  std::vector<std::thread> threads;
  for (Core& core : cores) {
    threads.emplace_back([&] { core.run([&] { return point.meet(); }); });
  }
  for (std::thread& thread : threads) thread.join();
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace chimera

int main(int argc, char** argv) {
  return chimera::run({argv + 1, argv + argc});
}
