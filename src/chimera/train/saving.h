// Decides when a rank saves during training, and lets all ranks learn that a
// checkpoint is complete. One object per rank, used by that rank's thread; all
// ranks call the same functions at the same steps.
#pragma once

#include "chimera/checkpoint/saver.h"
#include "chimera/exec/worker.h"
#include "chimera/train/observer.h"
#include "chimera/train/setup.h"

namespace chimera {

struct SavedPoint {
  int step = 0;  // steps done
  std::int64_t updates = 0;
};

class Saving {
 public:
  // REQUIRES: all arguments outlive this object.
  Saving(const RunSetup& setup, const StartPoint& start, Transport& transport,
         TrainObserver& observer);

  // Prepares memory for saves of `bytes`, if the run saves every few steps.
  void prepare(std::int64_t bytes);

  // The first step after `step` that is followed by a save; a very large number
  // if there is none.
  [[nodiscard]] int next(int step) const;

  // Exchange the progress of saves through the votes of steps: add_to() adds
  // this rank's progress to its ballot, note() reads the progress of all ranks.
  void add_to(Ballot& ballot);
  void note(const Ballot& vote);

  // Starts a save in the background, after waiting for an earlier one. Does
  // nothing if this step is saved already.
  void save(const SavedPoint& point, const std::vector<StatePiece>& pieces);
  // Waits until all saves are complete.
  void finish();

  // The newest step that this run has saved or was resumed from. REQUIRES: rank
  // 0.
  [[nodiscard]] int saved_step() const { return saved_step_; }
  // True if a checkpoint of this run could not be written. REQUIRES: rank 0.
  [[nodiscard]] bool has_failed() const { return has_failed_; }

 private:
  void note_part();
  void tell(bool wait);
  [[nodiscard]] bool have_all_written(bool mine);

  const RunSetup& setup_;
  const StartPoint& start_;
  Transport& transport_;
  TrainObserver& observer_;
  Saver saver_;
  int last_step_;  // last step saved or tried
  int saved_step_;
  bool is_unfinished_ = false;  // a save began since the last finish()
  bool was_told_ = false;       // others know that this rank's part failed
  bool has_failed_ = false;
};

// The manifest of a checkpoint without its list of tensors.
[[nodiscard]] Manifest manifest_head(const RunSetup& setup,
                                     const StartPoint& start,
                                     const SavedPoint& point);

// Estimated bytes of one checkpoint of this run.
[[nodiscard]] std::int64_t checkpoint_bytes(const RunSetup& setup);

}  // namespace chimera
