#include "chimera/exec/emulated.h"

#include <algorithm>
#include <map>
#include <thread>

#include "chimera/base/check.h"

namespace chimera {
namespace {

// The work that a payload or stash belongs to, so that mix-ups are found.
struct Stamp {
  int stage = 0;
  int micro = 0;
  int part = 0;
  int step = 0;
  // Number of updates that the stage had seen, repeated ones included. In
  // synchronous schedules all stages have seen equally many, so a message from
  // an undone forward is recognised.
  int updates = 0;

  bool operator==(const Stamp&) const = default;
};

// A stamp, padded to the bytes of the real payload.
class StampedPayload final : public Payload {
 public:
  StampedPayload(const Stamp& stamp, std::size_t size)
      : size_(sizeof(Stamp) + size),
        data_(std::make_unique_for_overwrite<std::byte[]>(size_)) {
    std::copy_n(reinterpret_cast<const std::byte*>(&stamp), sizeof stamp,
                data_.get());
  }

  std::span<std::byte> bytes() override { return {data_.get(), size_}; }

  [[nodiscard]] Stamp stamp() const {
    Stamp stamp;
    std::copy_n(data_.get(), sizeof stamp,
                reinterpret_cast<std::byte*>(&stamp));
    return stamp;
  }

 private:
  std::size_t size_;
  std::unique_ptr<std::byte[]> data_;
};

struct EmulatedWeights final : Weights {};

struct EmulatedStash final : Stash {
  Stamp stamp;
  bool complete = false;  // false until an R that is needed has run
  WeightsPtr weights;     // keeps its version alive, as an autograd graph would
};

void check_stamp(const PayloadPtr& payload, const Stamp& expected) {
  CHIMERA_CHECK(payload != nullptr, "a stage was given nothing");
  CHIMERA_CHECK(dynamic_cast<StampedPayload&>(*payload).stamp() == expected,
                "a stage was given what was meant for another");
}

class Emulated final : public StageCompute {
 public:
  Emulated(const Schedule& lowered, std::vector<EmulatedStage> stages,
           const Jitter& jitter)
      : schedule_(lowered), stages_(std::move(stages)), jitter_(jitter) {
    CHIMERA_CHECK_EQ(static_cast<int>(stages_.size()), schedule_.stages());
    updates_.resize(stages_.size());
  }

  WeightsPtr initial_weights(int /*stage*/) override {
    return std::make_shared<EmulatedWeights>();
  }

  ForwardResult forward(const Work& work, const WeightsPtr& weights,
                        PayloadPtr input, Keep keep) override {
    const Wait wait(stages_[work.stage].forward_s * factor(Op::kF, work));
    if (work.stage > 0) {
      Stamp below = stamp_of(work);
      --below.stage;
      check_stamp(input, below);
    }
    ForwardResult result;
    if (!is_last(work.stage)) {
      result.output = std::make_unique<StampedPayload>(
          stamp_of(work), stages_[work.stage].boundary_bytes);
    }
    if (keep == Keep::kNothing) return result;
    auto stash = std::make_unique<EmulatedStash>();
    stash->stamp = stamp_of(work);
    stash->complete = keep == Keep::kGraph;
    stash->weights = weights;
    result.stash = std::move(stash);
    return result;
  }

  void recompute(const Work& work, Stash& stash) override {
    const Wait wait(stages_[work.stage].forward_s * factor(Op::kR, work));
    check_stash(work, stash);
    dynamic_cast<EmulatedStash&>(stash).complete = true;
  }

  PayloadPtr backward(const Work& work, Stash& stash,
                      PayloadPtr gradient) override {
    const EmulatedStage& stage = stages_[work.stage];
    const Wait wait((stage.input_grad_s + stage.weight_grad_s) /
                    schedule_.parts * factor(Op::kB, work));
    add_gradient(work);
    return pass_gradient(work, stash, gradient);
  }

  PayloadPtr input_grad(const Work& work, Stash& stash,
                        PayloadPtr gradient) override {
    const Wait wait(stages_[work.stage].input_grad_s / schedule_.parts *
                    factor(Op::kI, work));
    return pass_gradient(work, stash, gradient);
  }

  void weight_grad(const Work& work, Stash& stash) override {
    const Wait wait(stages_[work.stage].weight_grad_s / schedule_.parts *
                    factor(Op::kW, work));
    check_stash(work, stash);
    add_gradient(work);
  }

  NumberBuffer gradient(const SumGroup& group) override {
    if (is_tied(group)) return {&tied_.value, 1};
    std::vector<float>& numbers = gradient_of(group.members[0].stage);
    return {numbers.data(), numbers.size()};
  }

  WeightsPtr update(const UpdateOrder& order,
                    const WeightsPtr& current) override {
    const Work work{
        .stage = order.stage, .micro = order.micro, .step = order.step};
    const Wait wait(stages_[order.stage].update_s * factor(Op::kU, work));
    kept_[order.stage] = {gradient_of(order.stage)[0], tied_};
    check_gradient(order);
    // Not counted in asynchronous schedules, where stages have had different
    // numbers of updates and stamps could not be compared.
    if (!is_asynchronous(schedule_)) ++updates_[order.stage];
    if (!order.keep_current) return current;
    return std::make_shared<EmulatedWeights>();
  }

  void undo_update(int stage, const WeightsPtr& /*weights*/) override {
    gradient_of(stage)[0] = kept_.at(stage).gradient;
    tied_ = kept_.at(stage).tied;
  }

  NumberBuffer updated_shards(const SumGroup& /*group*/,
                              int /*stage*/) override {
    return {};
  }

  Ballot ballot(int /*step*/, bool /*training*/) override { return {}; }

  PayloadPtr empty_payload(const Work& work, bool is_gradient) override {
    const int below = is_gradient ? work.stage : work.stage - 1;
    const std::size_t bytes = stages_[below].boundary_bytes;
    return std::make_unique<StampedPayload>(
        Stamp{}, is_gradient ? bytes / schedule_.parts : bytes);
  }

 private:
  // Waits until `seconds` after its construction; work done in between counts.
  class Wait {
   public:
    explicit Wait(double seconds)
        : until_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(seconds))) {}
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    ~Wait() {
      std::this_thread::sleep_until(until_ - kAwake);
      while (Clock::now() < until_) std::this_thread::yield();
    }

   private:
    // The end of a wait that spins instead of sleeping, because timers wake
    // threads 50 to 150 us late. (A real action would compute all the time.)
    static constexpr auto kAwake = std::chrono::microseconds(100);

    Clock::time_point until_;
  };

  // The gradient of a tied weight, emulated by one number.
  struct Tied {
    float value = 0;
    int step = -1;  // step of the tied weight's last update
  };
  // Data that an update consumes, kept to undo the update.
  struct Kept {
    float gradient = 0;
    Tied tied;
  };

  [[nodiscard]] double factor(Op op, const Work& work) const {
    return jitter_.factor({.op = op,
                           .part = static_cast<std::uint8_t>(work.part),
                           .pipe = work.pipe,
                           .stage = work.stage,
                           .micro = work.micro},
                          work.step);
  }

  [[nodiscard]] Stamp stamp_of(const Work& work) const {
    return {work.stage, work.micro, work.part, work.step, updates_[work.stage]};
  }

  [[nodiscard]] bool is_last(int stage) const {
    return stage + 1 == schedule_.stages();
  }
  // The number that a backward of the micro-batch adds to a gradient's first
  // element: a small integer, so that sums are exact up to 2^24.
  [[nodiscard]] static float worth(int micro) {
    return static_cast<float>(micro % 7 + 1);
  }

  void check_stash(const Work& work, Stash& stash) const {
    const Stamp& stamp = dynamic_cast<EmulatedStash&>(stash).stamp;
    CHIMERA_CHECK(stamp.stage == work.stage && stamp.micro == work.micro &&
                      stamp.step == work.step &&
                      stamp.updates == updates_[work.stage],
                  "a backward was given another one's stash");
  }

  PayloadPtr pass_gradient(const Work& work, Stash& stash,
                           const PayloadPtr& gradient) {
    check_stash(work, stash);
    CHIMERA_CHECK(dynamic_cast<EmulatedStash&>(stash).complete,
                  "a backward came before its recomputation");
    if (!is_last(work.stage)) {
      Stamp above = stamp_of(work);
      ++above.stage;
      check_stamp(gradient, above);
    }
    if (work.stage == 0) return nullptr;
    return std::make_unique<StampedPayload>(
        stamp_of(work),
        stages_[work.stage - 1].boundary_bytes / schedule_.parts);
  }

  std::vector<float>& gradient_of(int stage) {
    std::vector<float>& numbers = gradients_[stage];
    if (numbers.empty()) {
      numbers.resize(
          std::max<std::size_t>(1, stages_[stage].gradient_bytes / 4));
    }
    return numbers;
  }

  void add_gradient(const Work& work) {
    gradient_of(work.stage)[0] += worth(work.micro);
    if (work.stage == 0 || is_last(work.stage))
      tied_.value += worth(work.micro);
  }

  // After the all-reduce, every holder has the gradient of the whole mini-batch
  // or, if each micro-batch has its own update, of that micro-batch.
  void check_gradient(const UpdateOrder& order) {
    float expected = 0;
    for (int micro = 0; micro < schedule_.micros; ++micro) {
      if (order.micro == kNone || order.micro == micro) {
        expected += worth(micro);
      }
    }
    expected *= static_cast<float>(schedule_.parts * schedule_.width);
    float& sum = gradient_of(order.stage)[0];
    CHIMERA_CHECK_EQ(sum, expected);
    sum = 0;
    check_tied(order, 2 * expected);
  }

  void check_tied(const UpdateOrder& order, float expected) {
    const bool tied =
        std::any_of(schedule_.groups.begin(), schedule_.groups.end(), is_tied);
    const bool shares = order.stage == 0 || is_last(order.stage);
    // A worker that holds both stages updates the shared weight once.
    if (!tied || !shares || tied_.step == order.step) return;
    CHIMERA_CHECK_EQ(tied_.value, expected);
    tied_.value = 0;
    tied_.step = order.step;
  }

  const Schedule& schedule_;
  std::vector<EmulatedStage> stages_;
  Jitter jitter_;
  std::map<int, std::vector<float>> gradients_;  // by stage
  std::map<int, Kept> kept_;                     // by stage
  std::vector<int> updates_;                     // [stage]; see Stamp
  Tied tied_;
};

}  // namespace

std::vector<EmulatedStage> emulated_stages(const Costs& costs) {
  std::vector<EmulatedStage> stages;
  for (const StageCosts& stage : costs.stages) {
    stages.push_back(
        {.forward_s = stage.forward,
         .input_grad_s = stage.input_grad,
         .weight_grad_s = stage.weight_grad,
         .update_s = stage.update,
         .boundary_bytes = static_cast<std::size_t>(stage.boundary_bytes),
         .gradient_bytes = static_cast<std::size_t>(stage.gradient_bytes)});
  }
  return stages;
}

std::unique_ptr<StageCompute> make_emulated(const Schedule& lowered,
                                            std::vector<EmulatedStage> stages,
                                            const Jitter& jitter) {
  return std::make_unique<Emulated>(lowered, std::move(stages), jitter);
}

}  // namespace chimera
