#include "chimera/report/chart.h"

#include <algorithm>
#include <cstddef>

#include "chimera/base/check.h"

namespace chimera {

namespace {

bool is_block(const Event& event) {
  return is_compute(event.action.op) && event.end > event.start;
}

bool is_sum(const Event& event) {
  return event.action.op == Op::kG && event.end > event.start;
}

void add_sum(const Event& event, ChartRow* row) {
  constexpr double kDust = 1e-9;  // overlaps below this are rounding errors
  // Sums that overlap are drawn below each other, in as few lanes as possible.
  for (Lane& lane : row->sums) {
    if (lane.back()->end <= event.start * (1 + kDust)) {
      lane.push_back(&event);
      return;
    }
  }
  row->sums.push_back({&event});
}

void fill_rows(const Trace& trace, Chart* chart) {
  for (const Event& event : trace.events) {
    if (!is_block(event) && !is_sum(event)) continue;
    CHIMERA_CHECK(event.worker >= 0 && event.worker < trace.workers,
                  "an event of no worker");
    ChartRow& row = chart->rows[event.worker];
    chart->shows[static_cast<size_t>(event.action.op)] = true;
    chart->halves |= event.action.part > 0;
    if (is_sum(event)) {
      add_sum(event, &row);
    } else {
      row.blocks.push_back(&event);
    }
  }
}

void measure_blocks(Chart* chart) {
  std::vector<double> durations;
  for (const ChartRow& row : chart->rows) {
    chart->num_lanes = std::max(chart->num_lanes, row.sums.size());
    for (const Event* block : row.blocks) {
      durations.push_back(block->end - block->start);
    }
  }
  chart->num_blocks = durations.size();
  if (durations.empty()) return;
  const auto quartile =
      durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 4);
  std::nth_element(durations.begin(), quartile, durations.end());
  chart->typical = *quartile;
  // nth_element has put all shorter ones before the quartile.
  chart->shortest = *std::min_element(durations.begin(), quartile + 1);
}

// The lowest and the highest stage of a pipe seen so far.
struct Ends {
  int low = kNone;
  int high = kNone;
};

void extend_route(const Event& event, Ends* ends, PipeRoute* route) {
  const int stage = event.action.stage;
  if (ends->low == kNone || stage < ends->low) {
    ends->low = stage;
    route->first_worker = event.worker;
  }
  if (ends->high == kNone || stage > ends->high) {
    ends->high = stage;
    route->last_worker = event.worker;
  }
  route->micros.push_back(event.action.micro);
}

void find_routes(const Trace& trace, Chart* chart) {
  std::vector<Ends> ends(chart->pipes.size());
  for (const Event& event : trace.events) {
    const int pipe = event.action.pipe;
    if (event.action.op != Op::kF || pipe < 0 || pipe >= trace.pipes) continue;
    extend_route(event, &ends[pipe], &chart->pipes[pipe]);
  }
  for (PipeRoute& route : chart->pipes) {
    std::sort(route.micros.begin(), route.micros.end());
    const auto last = std::unique(route.micros.begin(), route.micros.end());
    route.micros.erase(last, route.micros.end());
  }
}

void find_chunks(Chart* chart) {
  for (const ChartRow& row : chart->rows) {
    for (const Event* block : row.blocks) {
      if (block->action.op != Op::kF) continue;
      std::vector<int>& stages =
          chart->stages[{block->worker, block->action.pipe}];
      const int stage = block->action.stage;
      const auto place = std::lower_bound(stages.begin(), stages.end(), stage);
      if (place == stages.end() || *place != stage) stages.insert(place, stage);
      chart->chunks = std::max(chart->chunks, static_cast<int>(stages.size()));
    }
  }
}

}  // namespace

int Chart::chunk_of(const Event& block) const {
  const auto found = stages.find({block.worker, block.action.pipe});
  if (found == stages.end()) return 0;
  const auto place = std::lower_bound(found->second.begin(),
                                      found->second.end(), block.action.stage);
  return static_cast<int>(place - found->second.begin());
}

Chart make_chart(const Trace& trace) {
  Chart chart;
  chart.end = makespan(trace);
  chart.rows.resize(trace.workers);
  chart.pipes.resize(trace.pipes);
  fill_rows(trace, &chart);
  measure_blocks(&chart);
  find_routes(trace, &chart);
  find_chunks(&chart);
  return chart;
}

}  // namespace chimera
