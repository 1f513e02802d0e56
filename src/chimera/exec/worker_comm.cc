// A worker's communication: messages, all-reduces, all-gathers.
#include <algorithm>

#include "chimera/exec/progress.h"
#include "chimera/exec/worker.h"

namespace chimera {

PayloadPtr Worker::input_of(const Action& action, int step) {
  const size_t needed = program_->index().needed_by(action);
  if (needed == MicroIndex::kNothing) return nullptr;
  const bool forward = action.op == Op::kF;
  const int source = forward ? action.stage - 1 : action.stage + 1;
  // made_ holds the input if this worker made it, or if a late R has received
  // it for the backward.
  if (program_->is_here(action.pipe, source) || made_.has(needed, step)) {
    return made_.take(needed, step);
  }
  const Placement& placement = program_->schedule().placement;
  const int from =
      program_->rank_of_worker(placement.worker(action.pipe, source));
  Received received = waiting(
      action, step, forward ? "an activation" : "a gradient",
      [&] { return transport_.receive(message_id(needed, step), from); });
  // Records the message here under the sender's action, because only the
  // receiver knows when the message arrived.
  Action send = action;
  send.op = forward ? Op::kSF : Op::kSB;
  send.stage = source;
  send.peer = program_->place().worker;
  recorder_.message(send, from, step, received.span);
  return std::move(received.payload);
}

void Worker::post(const Action& action, int step) {
  const bool forward = action.op == Op::kRF;
  const MicroIndex& index = program_->index();
  const size_t needed =
      forward ? index.activation(action.stage - 1, action.micro)
              : index.gradient(action.stage + 1, action.micro, action.part);
  transport_.post_receive(message_id(needed, step),
                          program_->rank_of_worker(action.peer),
                          [this, work = work_of(action, step), forward] {
                            return compute_.empty_payload(work, !forward);
                          });
}

void Worker::send(const Action& action, int step) {
  const MicroIndex& index = program_->index();
  const size_t made =
      action.op == Op::kSF
          ? index.activation(action.stage, action.micro)
          : index.gradient(action.stage, action.micro, action.part);
  transport_.send(message_id(made, step), program_->rank_of_worker(action.peer),
                  made_.take(made, step));
}

void Worker::start_sum(const Action& action, int step) {
  const SumGroup& group = program_->schedule().groups[action.group];
  const NumberBuffer buffer = compute_.gradient(group);
  // A group whose members are all on one rank needs no communication: they are
  // summed already.
  if (program_->members(action.group).size() == 1) return;
  const CollectiveId id{.group = action.group,
                        .number = std::max(action.micro, 0),
                        .step = step,
                        .channel = stretch_.channel()};
  transport_.start_collective(id, program_->members(action.group), buffer);
  open_sums_.push_back({id, action, compute_.mark()});
}

void Worker::finish_sum(const CollectiveId& id) {
  const auto sum =
      std::find_if(open_sums_.begin(), open_sums_.end(),
                   [&](const OpenSum& open) { return open.id == id; });
  // The sum is not open if the worker has waited for all sums before the vote
  // (N), or if its group has no other rank.
  if (sum == open_sums_.end()) return;
  const Span span = waiting(sum->action, id.step, "a gradient sum",
                            [&] { return transport_.wait_collective(id); });
  recorder_.collective(sum->action, id.step,
                       {span, {sum->start, compute_.mark()}});
  open_sums_.erase(sum);
}

void Worker::gather_shards(const Action& action, int step, int number) {
  for (const int group : program_->groups_of(action.stage)) {
    const NumberBuffer buffer = compute_.updated_shards(
        program_->schedule().groups[group], action.stage);
    const std::vector<int>& members = program_->members(group);
    if (buffer.count == 0 || members.size() == 1) continue;
    const CollectiveId id{.kind = CollectiveId::Kind::kAllGather,
                          .group = group,
                          .number = number,
                          .step = step,
                          .channel = stretch_.channel()};
    transport_.start_collective(id, members, buffer);
    open_gathers_.push_back({id, action.stage});
  }
}

void Worker::finish_gathers(
    const std::function<bool(const OpenGather& gather)>& is_needed) {
  for (std::size_t at = 0; at < open_gathers_.size();) {
    if (!is_needed(open_gathers_[at])) {
      ++at;
      continue;
    }
    const OpenGather gather = open_gathers_[at];
    const Action update{.op = Op::kU, .stage = gather.stage};
    (void)waiting(update, gather.id.step, "the other shards of the update",
                  [&] { return transport_.wait_collective(gather.id); });
    compute_.take_shards(program_->schedule().groups[gather.id.group],
                         gather.stage);
    open_gathers_.erase(open_gathers_.begin() +
                        static_cast<std::ptrdiff_t>(at));
  }
}

// The id of a message comes from the value it carries, so that both ends derive
// the same id from their own lists.
MessageId Worker::message_id(size_t index, int step) const {
  return {static_cast<std::int64_t>(index), step, stretch_.channel()};
}

std::string Worker::name_of(int rank) const {
  return options_.rank_names.empty() ? describe_rank(program_->schedule(), rank)
                                     : options_.rank_names[rank];
}

void Worker::explain(const TimeoutError& error, const Action& action, int step,
                     const char* what) const {
  std::string text = name_of(transport_.rank()) + ", step " +
                     std::to_string(step + 1) + ", " + describe(action) +
                     ": waited in vain for " + what;
  const int peer = error.peer();
  if (peer >= 0) {
    text += " from " + name_of(peer) + ", whose last action was: " +
            describe_progress(program_->schedule(), peer,
                              transport_.progress_of(peer));
    const int silence = static_cast<int>(transport_.silence_of(peer));
    if (silence > 0) text += ", " + std::to_string(silence) + " s ago";
  }
  throw TimeoutError(text, peer);
}

}  // namespace chimera
