// What a user sees while training runs, on stderr: a progress bar that is
// redrawn on a terminal, plain lines elsewhere.
#pragma once

#include <string>

#include "chimera/train/train.h"

namespace chimera {

struct StepLineOptions {
  int steps = 0;
  int log_every = 1;          // 0 = never
  double flops_per_step = 0;  // of the model, forward and backward
  double peak_flops = 0;      // of this machine; 0 = not known
};

class StepLine {
 public:
  explicit StepLine(const StepLineOptions& options);
  ~StepLine();
  StepLine(const StepLine&) = delete;
  StepLine& operator=(const StepLine&) = delete;

  void show(const StepReport& report);
  // A line of its own, whatever is drawn.
  void print(const std::string& line);

 private:
  [[nodiscard]] std::string text(const StepReport& report) const;
  [[nodiscard]] std::string bar(int step) const;

  StepLineOptions options_;
  bool is_terminal_;
  bool has_bar_ = false;  // one is drawn at present
  double step_s_ = 0;     // smoothed, for the time left
};

}  // namespace chimera
