// The vote, and what it decides: the end of a stretch, and updates. Late votes
// (V in the list) settle updates that were applied before the vote was known.
#include <algorithm>

#include "chimera/base/check.h"
#include "chimera/exec/worker.h"

namespace chimera {

void Worker::start_vote(int step) {
  // All sums must have ended, because the ballot holds the gradient's norm.
  // Only one vote may be open at a time: if no update waits for votes, the
  // previous step's vote is read here.
  while (!open_sums_.empty()) finish_sum(open_sums_.front().id);
  if (open_vote_) read_vote();
  Ballot ballot = compute_.ballot(step, stretch_.training);
  // Requests to stop are left to training steps: an evaluation always finishes.
  if (stretch_.training && options_.on_ballot) options_.on_ballot(ballot);
  ballot.busy_s = recorder_.take_busy_s();
  open_vote_ = step;
  vote_started_ = Clock::now();
  transport_.start_vote({step, stretch_.channel()}, ballot);
}

// Reads the vote. Every rank does so at the same place of its list, so all stop
// after the same step: this one if the vote decides about updates (V then drops
// what has begun of the next one), else the next one, which is already running.
void Worker::read_vote() {
  const int step = *open_vote_;
  open_vote_.reset();
  const CountedVote vote =
      waiting({.op = Op::kN}, step, "the vote of all workers", [&] {
        return transport_.wait_vote({step, stretch_.channel()});
      });
  vote_ = vote.ballot;
  recorder_.vote(step, {vote_started_, std::max(vote_started_, vote.known)});
  if (stretch_.training) votes_read_ = step + 1;
  if (vote_.stop > 0) {
    const int last = program_->vote_gates_update() ? step : step + 1;
    stretch_.end = std::min(stretch_.end, last + 1);
  }
  if (options_.on_vote) options_.on_vote({step, vote_, vote_started_});
}

// Performs V. All ranks read the same vote here, so either all of them run the
// actions before V again or none does.
void Worker::settle_updates(int step) {
  const int next = step + 1;
  const bool has_begun = next < stretch_.end;
  read_vote();
  const bool is_confirmed = compute_.confirms(vote_);
  // Settles updates before anything that may fail, so that a failure finds the
  // updates that the vote asked for.
  for (const Action& action : program_->list()) {
    if (action.op != Op::kU) continue;
    if (!is_confirmed) redo_update(action, step);
    versions(action.stage).is_provisional = false;
  }
  const bool goes_on = next < stretch_.end;
  if (!has_begun || (is_confirmed && goes_on)) return;
  drop_forwards(next);
  if (!goes_on) return;
  for (size_t at = 0; at < program_->verdict_position(); ++at) {
    run_action(at, next);
  }
}

void Worker::redo_update(const Action& action, int step) {
  // Drops the shards received so far, which belong to the update that is
  // undone.
  finish_gathers(
      [&](const OpenGather& gather) { return gather.stage == action.stage; });
  Versions& versions = this->versions(action.stage);
  compute_.undo_update(action.stage, versions.newest);
  versions.newest = timed(action, step, versions.number - 1, [&] {
    return compute_.update(
        {.stage = action.stage, .step = step, .vote = &vote_}, versions.newest);
  });
  // Gather number 1, because number 0 belongs to the update that was undone.
  gather_shards(action, step, /*number=*/1);
}

// Drops all work of `step` so far: the actions before V.
void Worker::drop_forwards(int step) {
  const ActionList& list = program_->list();
  const auto verdict =
      list.begin() + static_cast<std::ptrdiff_t>(program_->verdict_position());
  // Takes messages that were posted but not used by a forward. The second
  // attempt uses the same ids and would receive them otherwise.
  for (auto post = list.begin(); post != verdict; ++post) {
    if (post->op != Op::kRF) continue;
    const bool is_taken = std::any_of(post, verdict, [&](const Action& action) {
      return action.op == Op::kF && action.stage == post->stage &&
             action.micro == post->micro;
    });
    if (!is_taken) drop_message(*post, step);
  }
  held_.clear();
  made_.clear();
  num_held_ = 0;
  compute_.forget_forwards(step);
}

// Receives and drops a message. The message will arrive, because its sender
// also sent it before V.
void Worker::drop_message(const Action& post, int step) {
  const size_t sent = program_->index().activation(post.stage - 1, post.micro);
  (void)waiting(post, step, "an activation", [&] {
    return transport_.receive(message_id(sent, step),
                              program_->rank_of_worker(post.peer));
  });
}

void Worker::finish_updates(const Program& program, int steps,
                            const Ballot& vote) {
  CHIMERA_CHECK(program.vote_gates_update(), "nobody knows who has updated");
  for (const int stage : program.stages()) {
    Versions& versions = this->versions(stage);
    // A provisional update is undone if it belongs to a later step, or if the
    // vote asks for another one, which is then made below.
    if (std::exchange(versions.is_provisional, false) &&
        (versions.number > steps || !compute_.confirms(vote))) {
      compute_.undo_update(stage, versions.newest);
      --versions.number;
    }
    if (versions.number == steps) continue;
    CHIMERA_CHECK_EQ(versions.number, steps - 1);
    versions.newest = compute_.update(
        {.stage = stage, .step = steps - 1, .vote = &vote}, versions.newest);
    versions.number = steps;
  }
}

}  // namespace chimera
