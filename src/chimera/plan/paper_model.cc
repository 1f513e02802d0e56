// Letters of the paper: D workers, N micro-batches, 2f pipes, W copies.
#include "chimera/plan/paper_model.h"

#include <algorithm>
#include <set>

#include "chimera/base/check.h"

namespace chimera {
namespace {

// Closed forms of section 3.5 of the paper. Two cases need a correction. Direct
// concatenation leaves D-2 bubbles of B-F between two units. Doubling leaves
// bubbles of B-2F, and each of them adds one backward to the critical path and
// removes two forwards from it.
std::optional<PathCounts> chimera_counts(const Layout& layout,
                                         double backward_forwards) {
  const double D = layout.depth, N = layout.micros;
  const double f = layout.pipes / 2.0;
  const int unit =
      layout.scale == Scale::kDoubling ? 2 * layout.depth : layout.depth;
  if (layout.micros == layout.depth && layout.scale != Scale::kHalving) {
    return PathCounts{D, D + D / f - 2};
  }
  if (layout.pipes != 2 || layout.micros % unit != 0) return std::nullopt;
  const double k = N / unit;
  switch (layout.scale) {
    case Scale::kDirect:
      return PathCounts{D + 2 * (k - 1), k * (2 * D - 2)};
    case Scale::kDoubling: {
      const double between = backward_forwards > 2 ? (k - 1) * (D - 2) : 0;
      const double around = backward_forwards > 3 ? D / 2 - 1 : 0;
      return PathCounts{N + D / 2 - 1 - 2 * between - 3 * around,
                        N + D / 2 - 1 + between + around};
    }
    case Scale::kHalving:
      return PathCounts{N + (D - 2) / 2, N + (D - 2) / 4};
  }
  return std::nullopt;
}

}  // namespace

std::optional<PathCounts> path_counts(const ScheduleSpec& spec,
                                      double backward_forwards) {
  const Result<Layout> layout = resolve(spec);
  if (!layout) return std::nullopt;
  const std::string_view scheme = find_scheme(spec.scheme)->name;
  const double D = layout->depth, N = layout->micros;
  if (scheme == "gpipe" || scheme == "1f1b") {
    return PathCounts{N + D - 1, N + D - 1};
  }
  if (scheme == "gems") return PathCounts{D + N - 1, N * D};
  if (scheme == "pipedream" || scheme == "pipedream-2bw") {
    return PathCounts{N, N};
  }
  if (scheme == "chimera") return chimera_counts(*layout, backward_forwards);
  return std::nullopt;
}

double free_slots(const ScheduleSpec& spec, int stage, Sync sync) {
  const Result<Layout> layout = resolve(spec);
  const Scheme& scheme = *find_scheme(spec.scheme);
  if (!layout || !scheme.is_synchronous()) return 0;
  const int D = layout->depth;
  // With one pipe the last micro-batch's backward still has to pass the `stage`
  // stages in front, one slot each.
  if (layout->pipes == 1) return stage;
  if (scheme.name != "chimera" || layout->pipes != 2) return 0;
  const int near_worker = std::min(stage, D - 1 - stage);
  const int at_the_end = near_worker;
  const bool is_near = stage < D / 2;
  if (is_near || sync == Sync::kEnd || sync == Sync::kBlocking) {
    return at_the_end;
  }
  const int between_near_backwards = D / 2 - 1 - near_worker;
  return between_near_backwards + at_the_end;
}

namespace {

// The slowest message between neighbours: one of them is on the critical path.
double slowest_hop(const ScheduleSpec& spec, const Costs& costs, double bytes) {
  double slowest = 0;
  for (int worker = 0; worker + 1 < spec.depth; ++worker) {
    const Route route{worker, worker + 1, spec.depth, spec.width};
    slowest = std::max(slowest, message_time(costs, route, bytes).total());
  }
  return slowest;
}

// The ranks that hold one of `stages`, in all pipes and copies.
SumRanks ranks_of(const ScheduleSpec& spec, const Costs& costs,
                  const std::vector<int>& stages) {
  const Placement placement =
      find_scheme(spec.scheme)->place(resolve(spec).value());
  std::set<int> holders;
  for (int pipe = 0; pipe < placement.pipes(); ++pipe) {
    for (const int stage : stages)
      holders.insert(placement.worker(pipe, stage));
  }
  return sum_ranks(costs, {holders.begin(), holders.end()}, spec.depth,
                   spec.width);
}

}  // namespace

PaperTime paper_time(const ScheduleSpec& spec, const Costs& costs,
                     const PaperOptions& options) {
  double forward = 0, backward = 0, recompute = 0, boundary = 0;
  for (const StageCosts& stage : costs.stages) {
    forward = std::max(forward, stage.forward);
    backward = std::max(backward, stage.input_grad + stage.weight_grad);
    recompute = std::max(recompute, stage.recompute_time());
    boundary = std::max(boundary, stage.boundary_bytes);
  }
  if (options.recompute) backward += recompute;
  const std::optional<PathCounts> counts =
      path_counts(spec, forward > 0 ? backward / forward : 1);
  CHIMERA_CHECK(counts.has_value(), "the paper has no form for this");
  const double hop = slowest_hop(spec, costs, boundary);
  PaperTime time;
  time.compute = forward * counts->forwards + backward * counts->backwards;
  time.message = hop * (counts->forwards + counts->backwards);

  for (int stage = 0; stage < static_cast<int>(costs.stages.size()); ++stage) {
    const double sum = all_reduce_time(costs, ranks_of(spec, costs, {stage}),
                                       costs.stages[stage].gradient_bytes);
    const double hidden = free_slots(spec, stage, options.sync) * backward;
    time.sum = std::max(time.sum, sum - hidden);
  }
  // The tied weight is held by the first and the last worker of every pipe, and
  // its sum waits for the very last backward.
  if (costs.tied_bytes > 0) {
    const int last = static_cast<int>(costs.stages.size()) - 1;
    time.sum = std::max(time.sum,
                        all_reduce_time(costs, ranks_of(spec, costs, {0, last}),
                                        costs.tied_bytes));
  }
  // PipeDream updates after every micro-batch, so it also sums that often.
  if (spec.scheme == "pipedream") time.sum *= spec.micros;
  return time;
}

}  // namespace chimera
