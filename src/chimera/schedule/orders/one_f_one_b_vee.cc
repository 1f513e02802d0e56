// 1F1B-V (Qi et al., 2024, "Pipeline Parallelism with Controllable Memory"):
// two chunks a worker in a V, whole backwards, about two thirds of 1F1B's
// activations.
//
// A forward of a chunk takes one slot, a backward two. A micro-batch follows a
// fixed pattern of slots, and the next one starts 6 slots later, so that a
// worker's slots are full in the steady state. Then every pass, in the order of
// slots, is pulled into the first free slot after its inputs in which its
// worker holds no more than the pattern does at its most. A pass never leaves
// its inputs behind, so the order of slots cannot deadlock.
#include <algorithm>
#include <array>

#include "chimera/schedule/orders/orders.h"
#include "chimera/schedule/placements/placements.h"

namespace chimera {
namespace {

// The passes of a micro-batch on a worker, in order: 1 and 2 are the chunks.
enum Pass : int { kF1, kF2, kB2, kB1, kPasses };

constexpr int kPeriod = 6;

bool is_forward(int pass) { return pass <= kF2; }
int slots_of(int pass) { return is_forward(pass) ? 1 : 2; }
// True if the pass goes from worker r-1 to r, false if from r to r-1.
bool goes_down(int pass) { return pass == kF1 || pass == kB2; }

struct Event {
  int slot = 0;
  int worker = 0;
  int pass = 0;
  int micro = 0;

  auto operator<=>(const Event&) const = default;
};

class PulledSlots {
 public:
  explicit PulledSlots(const Layout& layout)
      : D_(layout.depth), N_(layout.micros) {
    std::vector<Event> events = pattern();
    std::sort(events.begin(), events.end());
    const int end = events.back().slot + 2;
    starts_.assign(D_, Starts(N_));
    taken_.assign(D_, std::vector<bool>(end));
    held_.assign(D_, std::vector<int>(end));
    for (const Event& event : events) place(event, event.slot, +1);
    for (const std::vector<int>& held : held_) {
      limit_ = std::max(limit_, *std::max_element(held.begin(), held.end()));
    }
    for (const Event& event : events) {
      place(event, event.slot, -1);
      place(event, earliest(event), +1);
    }
  }

  [[nodiscard]] ActionLists lists() const {
    ActionLists lists(D_);
    for (int r = 0; r < D_; ++r) {
      std::vector<Event> events;
      for (int m = 0; m < N_; ++m) {
        for (int pass = 0; pass < kPasses; ++pass) {
          events.push_back({starts_[r][m][pass], r, pass, m});
        }
      }
      std::sort(events.begin(), events.end());
      for (const Event& event : events) {
        const bool second = event.pass == kF2 || event.pass == kB2;
        lists[r].push_back(compute(is_forward(event.pass) ? Op::kF : Op::kB, 0,
                                   second ? 2 * D_ - 1 - r : r, event.micro));
      }
    }
    return lists;
  }

 private:
  using Starts = std::vector<std::array<int, kPasses>>;  // [micro][pass]

  [[nodiscard]] std::vector<Event> pattern() const {
    std::vector<Event> events;
    int slot = 0;
    // After every third worker, backwards leave three slots to the forwards of
    // other micro-batches.
    int backwards = (3 - (D_ + 2) % 3) % 3;
    for (int pass = 0; pass < kPasses; ++pass) {
      if (pass == kB2 && D_ % 3 == 0) slot += 3;
      for (int i = 0; i < D_; ++i) {
        const int r = goes_down(pass) ? i : D_ - 1 - i;
        for (int m = 0; m < N_; ++m) {
          events.push_back({slot + kPeriod * m, r, pass, m});
        }
        slot += slots_of(pass);
        if (is_forward(pass) || ++backwards < 3) continue;
        backwards = 0;
        slot += 3;
      }
    }
    return events;
  }

  // Adds (sign +1) or removes (-1) a pass.
  void place(const Event& event, int slot, int sign) {
    const auto [_, r, pass, micro] = event;
    starts_[r][micro][pass] = slot;
    for (int i = 0; i < slots_of(pass); ++i) taken_[r][slot + i] = sign > 0;
    // A backward frees its activation in its last slot, because only a forward
    // that follows it can need the room.
    const int from = is_forward(pass) ? slot : slot + 1;
    const int change = is_forward(pass) ? sign : -sign;
    for (int at = from; at < static_cast<int>(held_[r].size()); ++at) {
      held_[r][at] += change;
    }
  }

  // Finds the slot to which the pass is pulled.
  [[nodiscard]] int earliest(const Event& event) const {
    const auto [slot, r, pass, micro] = event;
    int from = inputs_end(event);
    if (is_forward(pass)) {
      int room = slot;
      while (room > from && held_[r][room - 1] < limit_) --room;
      from = room;
    }
    for (int at = from; at < slot; ++at) {
      const bool is_free =
          !taken_[r][at] && (is_forward(pass) || !taken_[r][at + 1]);
      if (is_free) return at;
    }
    return slot;
  }

  // The first slot after everything that the pass must follow: its inputs and
  // the same pass of the previous micro-batch.
  [[nodiscard]] int inputs_end(const Event& event) const {
    const auto [_, r, pass, micro] = event;
    int end = 0;
    const auto follow = [&](int worker, int before, int m) {
      end = std::max(end, starts_[worker][m][before] + slots_of(before));
    };
    if (micro > 0) follow(r, pass, micro - 1);
    if (pass > 0) follow(r, pass - 1, micro);
    const int source = goes_down(pass) ? r - 1 : r + 1;
    if (source >= 0 && source < D_) follow(source, pass, micro);
    return end;
  }

  int D_;
  int N_;
  int limit_ = 0;
  std::vector<Starts> starts_;            // [worker]
  std::vector<std::vector<bool>> taken_;  // [worker][slot]
  std::vector<std::vector<int>> held_;    // [worker][slot], in chunks
};

}  // namespace

Scheme one_f_one_b_vee() {
  return {.name = "1f1b-v",
          .summary =
              "two chunks in a V, whole backwards, two thirds of 1F1B's "
              "activations",
          .legal = "any D, any N, 2 chunks",
          .makespan =
              "3N + 5(D-1)/2 for N >= D, D = 3k+1, B = 2F = 2; else none known",
          .peak = "2D/3 + 1, rounded down, for N >= D",
          .weights = "1",
          .chunks = 2,
          .shape = Shape::kVee,
          .place = one_way,
          .order = [](const Layout& layout, const Placement&) {
            return PulledSlots(layout).lists();
          }};
}

}  // namespace chimera
