// When a rank saves during training, and how all ranks come to know that a
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
  // All outlive this.
  Saving(const RunSetup& setup, const StartPoint& start, Transport& transport,
         TrainObserver& observer);

  // The next step after `step` after which to save; far away if there is none.
  [[nodiscard]] int next(int step) const;

  // For this rank's part in the vote of a step, and for what all have said.
  void add_to(Ballot& ballot);
  void note(const Ballot& vote);

  // Saves in the background; waits for an earlier save first. Nothing, if this
  // step is saved already.
  void save(const SavedPoint& point, const std::vector<StatePiece>& pieces);
  // Waits until what was begun is complete.
  void finish();

  // The newest step that this run has saved or was resumed from; on rank 0.
  [[nodiscard]] int saved_step() const { return saved_step_; }
  // On rank 0: a checkpoint of this run could not be written.
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
  int last_step_;  // saved, or tried
  int saved_step_;
  bool is_unfinished_ = false;  // begun, and finish() was not called since
  bool was_told_ = false;       // of this rank's failure in the open save
  bool has_failed_ = false;
};

// What every checkpoint of the run says beside its tensors.
[[nodiscard]] Manifest manifest_head(const RunSetup& setup,
                                     const StartPoint& start,
                                     const SavedPoint& point);

// Bytes of one checkpoint of this run, about.
[[nodiscard]] std::int64_t checkpoint_bytes(const RunSetup& setup);

}  // namespace chimera
