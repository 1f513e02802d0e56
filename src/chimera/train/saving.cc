// Training waits only while a save copies this rank's share of the state. The
// Saver's thread then writes it, and the ballots of the following steps tell
// how many ranks have written theirs. All ranks read the same vote, so all of
// them close the save at the same step, and rank 0's thread commits. finish()
// does the same by messages, for the last save, which no votes follow, and
// before a new save begins while the old one is still open.
#include "chimera/train/saving.h"

#include <fmt/format.h>

#include <functional>
#include <limits>
#include <utility>

#include "chimera/base/hash.h"
#include "chimera/comm/exchange.h"
#include "chimera/config/paths.h"
#include "chimera/config/print.h"
#include "chimera/schedule/forms.h"
#include "chimera/train/optimizers.h"

namespace chimera {
namespace {

// Indices of the messages of one save. agree() uses kParts and the index after
// it.
enum SaveMessage { kParts = 0, kCommitted = 2 };

}  // namespace

Saving::Saving(const RunSetup& setup, const StartPoint& start,
               Transport& transport, TrainObserver& observer)
    : setup_(setup),
      start_(start),
      transport_(transport),
      observer_(observer),
      saver_({.run_dir = setup.config.run.dir,
              .rank = transport.rank(),
              .ranks = transport.size(),
              .keep = setup.config.run.keep}),
      last_step_(start.step),
      saved_step_(start.step) {}

void Saving::prepare(std::int64_t bytes) {
  if (setup_.config.run.save_every == 0) return;
  saver_.prepare(static_cast<std::size_t>(bytes));
}

int Saving::next(int step) const {
  const int every = setup_.config.run.save_every;
  if (every == 0) return std::numeric_limits<int>::max();
  return (step / every + 1) * every;
}

void Saving::note_part() {
  if (saver_.part() != Saver::Part::kFailed || was_told_) return;
  was_told_ = true;
  observer_.on_unwritten({transport_.rank(), last_step_, saver_.error()});
}

void Saving::add_to(Ballot& ballot) {
  if (!saver_.is_open()) return;
  note_part();
  // Each rank counts once its part is done, in every step until the save is
  // closed.
  const Saver::Part part = saver_.part();
  if (part == Saver::Part::kWritten) ballot.written += 1;
  if (part == Saver::Part::kFailed) ballot.unwritten += 1;
}

void Saving::note(const Ballot& vote) {
  if (saver_.is_open() &&
      static_cast<int>(vote.written + vote.unwritten) == transport_.size()) {
    saver_.settle(vote.unwritten == 0);
  }
  tell(/*wait=*/false);
}

void Saving::tell(bool wait) {
  const std::optional<SaveResult> result = saver_.result(wait);
  if (!result) return;
  if (result->path.empty()) {
    has_failed_ = true;
  } else {
    saved_step_ = result->step;
  }
  observer_.on_save(*result);
}

void Saving::save(const SavedPoint& point,
                  const std::vector<StatePiece>& pieces) {
  if (point.step == last_step_) return;
  finish();
  last_step_ = point.step;
  was_told_ = false;
  is_unfinished_ = true;
  saver_.start(manifest_head(setup_, start_, point), pieces);
}

void Saving::finish() {
  if (!std::exchange(is_unfinished_, false)) return;
  if (saver_.is_open()) {
    const bool written = saver_.wait_part() == Saver::Part::kWritten;
    note_part();
    saver_.settle(have_all_written(written));
  }
  tell(/*wait=*/true);
  // All ranks wait for the commit, which may take minutes on a slow disk.
  (void)broadcast_value(
      transport_, 1,
      {.index = kCommitted, .step = last_step_, .channel = Channel::kSave});
}

// Waits until all ranks have written. One disk may take minutes longer than
// another, and waiting here keeps every rank within its deadline in the next
// step.
bool Saving::have_all_written(bool mine) {
  const auto on_late = [&](int rank) { observer_.on_late({rank, last_step_}); };
  return agree(transport_, mine ? 1 : 0,
               {.index = kParts, .step = last_step_, .channel = Channel::kSave},
               std::bit_and<>(), on_late) == 1;
}

Manifest manifest_head(const RunSetup& setup, const StartPoint& start,
                       const SavedPoint& point) {
  return {.step = point.step,
          .samples = point.step * setup.global_batch() + start.sample_shift,
          .updates = point.updates,
          .seed = setup.config.train.seed,
          .schedule = fmt::format("{:016x}", hash_of(to_json(setup.schedule))),
          .config = print_run_config(with_absolute_paths(setup.config)),
          .model = setup.hf_shape.model.layers > 0
                       ? hf_config_text(setup.hf_shape)
                       : ""};
}

std::int64_t checkpoint_bytes(const RunSetup& setup) {
  const std::size_t kinds =
      1 + make_optimizer(setup.config.train)->state_names().size();
  return parameter_count(setup.model) * static_cast<std::int64_t>(kinds) *
         static_cast<std::int64_t>(sizeof(float));
}

}  // namespace chimera
