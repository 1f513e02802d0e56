// V-Half and V-Min (Qi et al., 2024, "Pipeline Parallelism with Controllable
// Memory"): two chunks a worker in a V, split backward, about a half and a
// third of 1F1B's activations.
//
// Time is divided into slots, one for each F, I or W of a chunk. A micro-batch
// follows a fixed pattern of slots, and the next one starts 6 slots later: in
// the steady state a worker's slots are full and it always holds equally many
// activations. The passes of the first and last micro-batches are then pulled
// into free slots, as far as no worker holds more than the pattern does.
#include <algorithm>
#include <array>

#include "chimera/schedule/orders/orders.h"
#include "chimera/schedule/placements/placements.h"

namespace chimera {
namespace {

// The passes of a micro-batch on a worker, in order; kW stands for the weight
// gradients of both chunks, the oldest first.
enum Pass : int { kF1, kF2, kI2, kI1, kW, kPasses };

bool is_forward(int pass) { return pass == kF1 || pass == kF2; }
bool is_input(int pass) { return pass == kI2 || pass == kI1; }
// True if the pass goes from worker r-1 to r, false if from r to r-1.
bool goes_down(int pass) { return pass == kF1 || pass == kI2; }

// The slots of micro-batch 0 on worker r: F1, F2, I2, I1.
using Pattern = std::array<int, 4> (*)(int D, int r);

std::array<int, 4> half_pattern(int D, int r) {
  const int gap = D % 2 == 0 ? 3 : 0;
  return {2 * r, 3 * D - 2 - r, 3 * D - 1 + gap + 2 * r, 6 * D - 2 + gap - r};
}

std::array<int, 4> min_pattern(int D, int r) {
  const int gap = D % 3 == 0 ? 2 : 0;
  return {r, 2 * D - 1 - r, 2 * D + gap + r, 4 * D - 1 + gap - r};
}

// The slots of one worker.
struct Row {
  std::array<std::vector<int>, kPasses> slots;  // [pass][micro], ascending

  // [slot]: the pass that runs there, or kNone.
  [[nodiscard]] std::vector<int> cells() const {
    int end = 0;
    for (const std::vector<int>& of_pass : slots) {
      if (!of_pass.empty()) end = std::max(end, of_pass.back() + 1);
    }
    std::vector<int> cells(end, kNone);
    for (int pass = 0; pass < kPasses; ++pass) {
      for (const int slot : slots[pass]) cells[slot] = pass;
    }
    return cells;
  }

  // Puts the oldest waiting W into every free slot, and the rest at the end.
  void place_weights() {
    slots[kW].clear();
    int waiting = 0;
    const std::vector<int> passes = cells();
    int slot = 0;
    for (; slot < static_cast<int>(passes.size()); ++slot) {
      if (is_input(passes[slot])) ++waiting;
      if (passes[slot] != kNone || waiting == 0) continue;
      slots[kW].push_back(slot);
      --waiting;
    }
    for (; waiting > 0; --waiting) slots[kW].push_back(slot++);
  }

  // The most chunks held at once. Before W's are placed, every free slot counts
  // as one.
  [[nodiscard]] int peak() const {
    const bool has_weights = !slots[kW].empty();
    int held = 0;
    int waiting = 0;
    int most = 0;
    for (const int pass : cells()) {
      if (is_forward(pass)) most = std::max(most, ++held);
      if (is_input(pass)) ++waiting;
      const bool is_free = pass == kNone && !has_weights && waiting > 0;
      if (is_free) --waiting;
      if (is_free || pass == kW) --held;
    }
    return most;
  }

  // The slot of the `number`-th input gradient, counted over both chunks.
  [[nodiscard]] int input_slot(int number) const {
    std::vector<int> inputs = slots[kI2];
    inputs.insert(inputs.end(), slots[kI1].begin(), slots[kI1].end());
    std::nth_element(inputs.begin(), inputs.begin() + number, inputs.end());
    return inputs[number];
  }
};

struct Event {
  int slot = 0;
  int worker = 0;
  int pass = 0;
  int number = 0;

  auto operator<=>(const Event&) const = default;
};

class VeeSlots {
 public:
  VeeSlots(const Layout& layout, Pattern pattern)
      : D_(layout.depth), N_(layout.micros), rows_(layout.depth) {
    for (int r = 0; r < D_; ++r) {
      const std::array<int, 4> first = pattern(D_, r);
      for (int pass = 0; pass < 4; ++pass) {
        for (int m = 0; m < N_; ++m) {
          rows_[r].slots[pass].push_back(first[pass] + 6 * m);
        }
      }
    }
  }

  ActionLists run() {
    for (Row& row : rows_) row.place_weights();
    pull(true);
    close_gaps();
    for (Row& row : rows_) row.slots[kW].clear();
    pull(false);
    for (Row& row : rows_) row.place_weights();
    close_gaps();
    ActionLists lists;
    for (int r = 0; r < D_; ++r) lists.push_back(list_of(r));
    return lists;
  }

 private:
  [[nodiscard]] std::vector<Event> events() const {
    std::vector<Event> events;
    for (int r = 0; r < D_; ++r) {
      for (int pass = 0; pass < kPasses; ++pass) {
        const std::vector<int>& slots = rows_[r].slots[pass];
        for (int i = 0; i < static_cast<int>(slots.size()); ++i) {
          events.push_back({slots[i], r, pass, i});
        }
      }
    }
    std::sort(events.begin(), events.end());
    return events;
  }

  // Pulls the passes of the cool-down (after the last F1 of worker 0) into
  // earlier free slots, and if `warm_up` also those of the warm-up (before its
  // first I1).
  void pull(bool warm_up) {
    int limit = 0;
    for (const Row& row : rows_) limit = std::max(limit, row.peak());
    std::vector<std::vector<bool>> taken(D_);
    const std::vector<Event> all = events();
    for (std::vector<bool>& slots : taken) slots.resize(all.back().slot + 1);
    enum { kWarmUp, kSteady, kCoolDown } phase = kWarmUp;
    for (const Event& event : all) {
      int& slot = rows_[event.worker].slots[event.pass][event.number];
      if (phase == kWarmUp && event.pass == kI1 && event.worker == 0) {
        phase = kSteady;
      }
      if (phase == kCoolDown || (phase == kWarmUp && warm_up)) {
        slot = earliest(event, limit, taken[event.worker]);
      }
      if (phase == kSteady && event.pass == kF1 && event.number == N_ - 1) {
        phase = kCoolDown;
      }
      taken[event.worker][slot] = true;
    }
  }

  // The first free slot after the pass's inputs in which its worker stays
  // within the limit.
  int earliest(const Event& event, int limit, const std::vector<bool>& taken) {
    Row& row = rows_[event.worker];
    int& slot = row.slots[event.pass][event.number];
    // Once W's are placed, only a forward can raise the number held.
    const bool is_checked = is_forward(event.pass) || row.slots[kW].empty();
    for (int at = needed_slot(event) + 1; at < event.slot; ++at) {
      if (taken[at]) continue;
      slot = at;
      if (!is_checked || row.peak() <= limit) return at;
    }
    slot = event.slot;
    return slot;
  }

  // The last slot that the pass must follow.
  [[nodiscard]] int needed_slot(const Event& event) const {
    const Row& row = rows_[event.worker];
    const auto [slot, r, pass, number] = event;
    int needed = kNone;
    if (number > 0) needed = row.slots[pass][number - 1];
    if (pass == kW) return std::max(needed, row.input_slot(number));
    if (pass > 0) needed = std::max(needed, row.slots[pass - 1][number]);
    const int source = goes_down(pass) ? r - 1 : r + 1;
    if (source < 0 || source >= D_) return needed;
    return std::max(needed, rows_[source].slots[pass][number]);
  }

  // Starts every pass as early as the order of its worker allows.
  void close_gaps() {
    std::vector<int> free_at(D_, 0);
    for (const Event& event : events()) {
      int at = free_at[event.worker];
      if (event.pass != kW) at = std::max(at, needed_slot(event) + 1);
      rows_[event.worker].slots[event.pass][event.number] = at;
      free_at[event.worker] = at + 1;
    }
  }

  // The list of worker r. A free slot takes a W of the second chunk, else one
  // of the first.
  [[nodiscard]] ActionList list_of(int r) const {
    Row row = rows_[r];
    row.slots[kW].clear();
    ActionList list;
    std::array<int, kPasses> done = {};
    std::array<int, 2> weights = {};  // of the second and the first chunk
    const auto stage_of = [&](bool second) {
      return second ? 2 * D_ - 1 - r : r;
    };
    const auto add_weight = [&] {
      for (const int chunk : {0, 1}) {
        if (weights[chunk] == done[kI2 + chunk]) continue;
        list.push_back(
            compute(Op::kW, 0, stage_of(chunk == 0), weights[chunk]++));
        return;
      }
    };
    for (const int pass : row.cells()) {
      if (pass == kNone) {
        add_weight();
        continue;
      }
      const Op op = is_forward(pass) ? Op::kF : Op::kI;
      const bool second = pass == kF2 || pass == kI2;
      list.push_back(compute(op, 0, stage_of(second), done[pass]++));
    }
    while (weights[0] + weights[1] < 2 * N_) add_weight();
    return list;
  }

  int D_;
  int N_;
  std::vector<Row> rows_;
};

Scheme scheme_of(std::string_view name, std::string_view summary,
                 std::string_view peak,
                 ActionLists (*order)(const Layout&, const Placement&)) {
  return {
      .name = name,
      .summary = summary,
      .legal = "any D, any N, 2 chunks",
      .makespan = "no closed form; 3N + a constant of D for N >= 2D, F=I=W=1",
      .peak = peak,
      .weights = "1",
      .chunks = 2,
      .shape = Shape::kVee,
      .place = one_way,
      .order = order};
}

}  // namespace

Scheme v_half() {
  return scheme_of("v-half", "two chunks in a V, half of 1F1B's activations",
                   "(D+2)/2, rounded down",
                   [](const Layout& layout, const Placement&) {
                     return VeeSlots(layout, half_pattern).run();
                   });
}

Scheme v_min() {
  return scheme_of("v-min", "two chunks in a V, a third of 1F1B's activations",
                   "(D+4)/3, rounded down",
                   [](const Layout& layout, const Placement&) {
                     return VeeSlots(layout, min_pattern).run();
                   });
}

}  // namespace chimera
