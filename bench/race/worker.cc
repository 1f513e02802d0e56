// Chimera in the race: runs the training of a run.toml, one block of steps at a
// time. Ranks are threads or, with --mpi, the processes of an mpirun.
//   race_worker [--mpi] [--profile FILE] run.toml [section.key=value]...
//
// A block lasts from the first rank's start to the last one's end. With
// --profile the layers are measured before each block, as `chimera calibrate`
// does, and their profile is written to FILE at the end.
#include "chimera/exec/worker.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <map>
#include <span>
#include <thread>

#include "bench/ending_handler.h"
#include "bench/race/blocks.h"
#include "chimera/comm/exchange.h"
#include "chimera/exec/run_threads.h"
#include "chimera/mpi/mpi_transport.h"
#include "chimera/mpi/session.h"
#include "chimera/plan/profile_text.h"
#include "chimera/plan/run_schedule.h"
#include "chimera/simulate/simulate.h"
#include "chimera/train/calibrate.h"
#include "chimera/train/train.h"

namespace chimera {
namespace {

constexpr double kLayerSeconds = 0.7;  // one rank alone, then all at once

// Measures the layers before blocks of the run.
class LayerTurns {
 public:
  LayerTurns(const RunSetup& setup, Transport& transport)
      : options_(
            {.model = setup.model.details,
             .train = setup.config.train,
             .micro_batches = {*setup.config.schedule.micro_batch},
             .threads = setup.threads,
             .cores = static_cast<int>(std::thread::hardware_concurrency()),
             .machine = "this machine",
             .on_progress = {}}),
        calibration_(transport, options_),
        rounds_(calibration_.layers(options_.micro_batches[0])) {}

  void run() { rounds_->run(kLayerSeconds); }
  void write(const std::string& file) {
    calibration_.add(*rounds_);
    write_file(file, print_profile(calibration_.profile()));
  }

 private:
  CalibrateOptions options_;
  Calibration calibration_;
  std::unique_ptr<LayerRounds> rounds_;
};

class Race {
 public:
  Race(const RunSetup& setup, std::string profile)
      : setup_(setup), profile_(std::move(profile)) {
    if (!setup.is_emulated()) {
      compute_.emplace(
          compute_options(setup, formats_of(setup.config.train.precision)));
    }
  }

  void run_as_threads() {
    run_workers(
        {.ranks = num_ranks(setup_.schedule),
         .deadline = deadline(),
         .links = link_times(setup_)},
        [this](int rank) { return make_compute(rank); },
        [this](Transport& transport, StageCompute& compute) {
          run_rank(transport, compute);
        });
  }

  void run_as_process() {
    const MpiSession session;
    const auto compute = make_compute(session.rank());
    BenchEnding ending;
    const auto transport = make_mpi_transport(
        {.deadline = deadline(),
         .links = link_times(setup_),
         .groups = group_ranks(setup_.schedule),
         .peers = peer_ranks(setup_.schedule, session.rank()),
         .handler = ending});
    run_rank(*transport, *compute);
  }

 private:
  struct Times {
    double start = 0;
    double end = 0;
  };

  [[nodiscard]] std::chrono::duration<double> deadline() const {
    return std::chrono::duration<double>(setup_.config.run.timeout_s);
  }

  [[nodiscard]] std::unique_ptr<StageCompute> make_compute(int rank) const {
    return setup_.is_emulated()
               ? make_emulated(setup_.schedule, setup_.emulated)
               : make_torch_compute(*compute_, rank);
  }

  void run_rank(Transport& transport, StageCompute& compute) {
    std::vector<double> losses;
    Worker worker(transport, compute, {.on_vote = [&](const VoteResult& vote) {
                    losses.push_back(vote.ballot.loss);
                  }});
    const Program program(setup_.schedule, transport.rank());
    std::optional<LayerTurns> turns;
    if (!profile_.empty()) turns.emplace(setup_, transport);
    int step = 0;
    for (int block = 0;; ++block) {
      const int steps = next_block(transport, block);
      if (steps == 0) break;
      if (turns) {
        turns->run();
        // One step to refill the caches and pools that the layers have emptied.
        step = worker.run(program, {.first = step, .end = step + 1});
      }
      losses.clear();
      const Clock::time_point start = Clock::now();
      step = worker.run(program, {.first = step, .end = step + steps});
      const Times mine{seconds(start), seconds(Clock::now())};
      const auto times =
          gather_values(transport, std::vector{mine},
                        {.step = block, .channel = Channel::kMeeting});
      if (transport.rank() != 0) continue;
      print_block({.seconds = from_first_to_last(times),
                   .simulated = simulated(steps),
                   .losses = losses});
    }
    if (turns && transport.rank() == 0) turns->write(profile_);
  }

  // Rank 0 reads the number of steps and sends it to all others.
  [[nodiscard]] int next_block(Transport& transport, int block) const {
    std::future<std::string> text;
    if (transport.rank() == 0) {
      text = std::async(std::launch::async,
                        [] { return std::to_string(read_block()); });
    }
    return std::stoi(
        broadcast_text(transport, std::move(text), deadline() / 4,
                       {.step = block, .channel = Channel::kReplan}));
  }

  static double seconds(Clock::time_point time) {
    return std::chrono::duration<double>(time.time_since_epoch()).count();
  }

  // The block's time; all ranks are on this machine and share one clock.
  static double from_first_to_last(
      const std::vector<std::vector<Times>>& times) {
    Times all = times[0][0];
    for (const std::vector<Times>& of_rank : times) {
      all.start = std::min(all.start, of_rank[0].start);
      all.end = std::max(all.end, of_rank[0].end);
    }
    return all.end - all.start;
  }

  // The simulated time of a block; 0 if stages are real.
  [[nodiscard]] double simulated(int steps) {
    if (!setup_.is_emulated()) return 0;
    double& makespan = makespans_[steps];
    if (makespan == 0) {
      const Costs costs = emulated_costs(setup_.config, setup_.schedule);
      makespan = simulate(setup_.schedule, costs, {.steps = steps}).makespan;
    }
    return makespan;
  }

  const RunSetup& setup_;
  std::string profile_;  // output file; empty: not measured
  std::optional<TorchComputeOptions> compute_;
  std::map<int, double> makespans_;  // [steps]; on rank 0
};

int run(std::span<char* const> words) {
  bool mpi = false;
  std::string profile;
  while (!words.empty() && std::string_view(words[0]).starts_with("--")) {
    if (words[0] == std::string_view("--mpi")) {
      mpi = true;
    } else if (words[0] == std::string_view("--profile") && words.size() > 1) {
      words = words.subspan(1);
      profile = words[0];
    } else {
      words = {};
      break;
    }
    words = words.subspan(1);
  }
  if (words.empty()) {
    std::cerr << "usage: race_worker [--mpi] [--profile FILE] run.toml "
                 "[section.key=value]...\n";
    return 2;
  }
  const auto setup =
      set_up_race(words[0], {std::next(words.begin()), words.end()});
  if (!setup) return 2;
  Race race(*setup, profile);
  mpi ? race.run_as_process() : race.run_as_threads();
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace chimera

int main(int argc, char** argv) {
  return chimera::run(std::span(argv, argc).subspan(1));
}
