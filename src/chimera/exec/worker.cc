// What lives between actions: results for a neighbouring stage (made_), what a
// forward keeps for its backward (held_), and versions of each stage's weights.
//
// A version is a shared pointer that every stash holds as long as its backward
// may need the weights. In a synchronous schedule no stash is left when a stage
// is updated, so the update works in place. In PipeDream some are left, and 2BW
// keeps the previous version: use_count() is then above 1, and the update makes
// a new version. No table of versions is needed, and a version is freed with
// the last stash that holds it.
#include "chimera/exec/worker.h"

#include <algorithm>

#include "chimera/base/check.h"
#include "chimera/exec/progress.h"

namespace chimera {

Worker::Worker(Transport& transport, StageCompute& compute,
               const WorkerOptions& options)
    : transport_(transport),
      compute_(compute),
      options_(options),
      recorder_(options.recorder, transport.rank()),
      votes_read_(options.steps_before) {}

int Worker::run(const Program& program, const Stretch& stretch) {
  program_ = &program;
  stretch_ = stretch;
  recorder_.pause(!stretch.training);
  try {
    run_rounds();
  } catch (const std::exception& error) {
    // Aborts before this rank's buffers are freed, because abort() ends the
    // collectives that use them.
    transport_.abort(error.what());
    throw;
  }
  if (stretch.training) {
    transport_.report_progress(
        encode({.step = stretch_.end, .position = Progress::kBetween}));
  }
  CHIMERA_CHECK(held_.empty() && made_.empty() && open_sums_.empty(),
                "work is left over at the end of a stretch");
  return stretch_.end;
}

void Worker::run_rounds() {
  const ActionList& list = program_->list();
  // A vote may lower stretch_.end during the loop.
  for (int round = stretch_.first;
       round < stretch_.end + program_->closing_rounds(); ++round) {
    recorder_.begin_round(round);
    for (size_t at = 0; at < list.size(); ++at) run_action(at, round);
  }
  if (open_vote_) read_vote();
  // Takes the shards of the last updates, which may still be on their way. Code
  // between stretches needs whole weights.
  finish_gathers([](const OpenGather&) { return true; });
}

void Worker::run_action(size_t position, int round) {
  const Action& action = program_->list()[position];
  const int step = round + action.step;
  // Skips actions outside of the stretch: those that lag behind (step < 0)
  // begin some rounds after the others and end in the closing rounds, in which
  // the others have nothing left to do.
  if (step < stretch_.first || step >= stretch_.end) return;
  transport_.report_progress(
      encode({.step = step,
              .position = stretch_.training ? static_cast<int>(position)
                                            : stretch_.after,
              .training = stretch_.training}));
  if (options_.flight != nullptr) options_.flight->begin(action, step);
  perform(action, step);
}

void Worker::perform(const Action& action, int step) {
  switch (action.op) {
    case Op::kF:
      return forward(action, step);
    case Op::kR:
      return recompute(action, step);
    case Op::kB:
    case Op::kI:
    case Op::kW:
      return backward(action, step);
    case Op::kU:
      return update(action, step);
    case Op::kRF:
    case Op::kRB:
      return post(action, step);
    case Op::kSF:
    case Op::kSB:
      return send(action, step);
    case Op::kG:
      return start_sum(action, step);
    case Op::kN:
      return start_vote(step);
    case Op::kV:
      return settle_updates(step);
  }
}

void Worker::forward(const Action& action, int step) {
  int version = 0;
  const WeightsPtr weights = weights_for(action, step, version);
  PayloadPtr input = input_of(action, step);
  // A micro-batch that will be recomputed keeps its input alone until then; an
  // evaluation keeps nothing.
  const bool recomputed = program_->is_recomputed(action.stage, action.micro);
  Keep keep = Keep::kNothing;
  if (stretch_.training) keep = recomputed ? Keep::kInput : Keep::kGraph;
  const bool holds_later =
      recomputed && holds_from_recompute(program_->schedule());
  if (keep != Keep::kNothing && !holds_later) count_held(+1);
  ForwardResult result = timed(action, step, version, [&] {
    return compute_.forward(work_of(action, step), weights, std::move(input),
                            keep);
  });
  const MicroIndex& index = program_->index();
  if (result.output) {
    made_.put(index.made_by(action), step, std::move(result.output));
  }
  if (keep != Keep::kNothing) {
    held_.put(index.cell(action.stage, action.micro), step,
              {.stash = std::move(result.stash), .version = version});
  }
}

void Worker::recompute(const Action& action, int step) {
  if (action.peer != kNone) {
    // A late R waits for its backward's gradient and stores it in made_ for
    // that backward.
    PayloadPtr gradient = input_of(action, step);
    made_.put(program_->index().needed_by(action), step, std::move(gradient));
  }
  Held& held =
      held_.find(program_->index().cell(action.stage, action.micro), step);
  if (holds_from_recompute(program_->schedule())) count_held(+1);
  timed(action, step, held.version,
        [&] { compute_.recompute(work_of(action, step), *held.stash); });
}

void Worker::backward(const Action& action, int step) {
  const size_t cell = program_->index().cell(action.stage, action.micro);
  Held& held = held_.find(cell, step);
  const Work work = work_of(action, step);
  PayloadPtr gradient;
  if (gives_gradient(action.op)) gradient = input_of(action, step);
  PayloadPtr passed_on = timed(action, step, held.version, [&]() -> PayloadPtr {
    switch (action.op) {
      case Op::kB:
        return compute_.backward(work, *held.stash, std::move(gradient));
      case Op::kI:
        return compute_.input_grad(work, *held.stash, std::move(gradient));
      default:
        compute_.weight_grad(work, *held.stash);
        return nullptr;
    }
  });
  if (passed_on) {
    made_.put(program_->index().made_by(action), step, std::move(passed_on));
  }
  if (!gives_weight_gradient(action.op)) return;
  if (++held.parts_done < program_->schedule().parts) return;
  held_.take(cell, step);
  count_held(-1);
}

void Worker::update(const Action& action, int step) {
  // Waits only for the sums of this stage. If N came before, it has waited for
  // all sums, and none is open here.
  for (const int group : program_->groups_of(action.stage)) {
    finish_sum({.group = group,
                .number = std::max(action.micro, 0),
                .step = step,
                .channel = stretch_.channel()});
  }
  const bool is_late = program_->has_late_vote();
  const bool gated = program_->vote_gates_update() && !is_late;
  if (gated && open_vote_) read_vote();
  // Takes the shards of the stage's last update, in case no forward has needed
  // them since.
  finish_gathers(
      [&](const OpenGather& gather) { return gather.stage == action.stage; });
  Versions& versions = this->versions(action.stage);
  const bool double_buffered = program_->is_double_buffered();
  // Keeps the previous version, which raises its use_count(): the update below
  // then makes a new version instead of changing this one.
  if (double_buffered) versions.previous = versions.newest;
  const UpdateOrder order{.stage = action.stage,
                          .step = step,
                          .micro = action.micro,
                          .keep_current = versions.newest.use_count() > 1,
                          .vote = gated ? &vote_ : nullptr,
                          .is_provisional = is_late};
  versions.newest = timed(action, step, versions.number, [&] {
    return compute_.update(order, versions.newest);
  });
  ++versions.number;
  versions.is_provisional = is_late;
  gather_shards(action, step, std::max(action.micro, 0));
}

const WeightsPtr& Worker::weights(int stage) { return versions(stage).newest; }

Worker::Versions& Worker::versions(int stage) {
  Versions& versions = versions_[stage];
  if (!versions.newest) {
    versions.newest = compute_.initial_weights(stage);
    versions.number = options_.steps_before;
    if (options_.steps_before > 0) {
      versions.previous = compute_.initial_previous(stage);
    }
  }
  return versions;
}

WeightsPtr Worker::weights_for(const Action& action, int step, int& version) {
  // Covers the groups of tied weights too, which the update of another stage
  // has changed.
  const std::vector<int>& groups = program_->groups_of(action.stage);
  finish_gathers([&](const OpenGather& gather) {
    return std::find(groups.begin(), groups.end(), gather.id.group) !=
           groups.end();
  });
  const Versions& versions = this->versions(action.stage);
  version = versions.number;
  // In 2BW step k uses the weights after k - 1 updates on every stage, even if
  // this stage has had its k-th update already.
  if (!stretch_.training || !program_->is_double_buffered()) {
    return versions.newest;
  }
  version = std::max(0, step - 1);
  if (version == versions.number) return versions.newest;
  CHIMERA_CHECK_EQ(version, versions.number - 1);
  return versions.previous;
}

std::vector<StatePiece> Worker::state(const Program& program, int lost) {
  std::vector<StatePiece> pieces;
  for (const int stage : program.stages()) {
    const Versions& versions = this->versions(stage);
    const std::vector<StatePiece> more =
        compute_.state({.stage = stage,
                        .newest = *versions.newest,
                        .previous = versions.previous.get(),
                        .lost = lost});
    pieces.insert(pieces.end(), more.begin(), more.end());
  }
  return pieces;
}

void Worker::count_held(int change) {
  num_held_ += change;
  peak_ = std::max(
      peak_, static_cast<double>(num_held_) / program_->schedule().chunks());
}

Work Worker::work_of(const Action& action, int step) const {
  return {.pipe = action.pipe,
          .stage = action.stage,
          .micro = action.micro,
          .part = action.part,
          .step = step,
          .training = stretch_.training};
}

}  // namespace chimera
