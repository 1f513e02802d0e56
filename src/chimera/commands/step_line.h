// The progress of training on stderr: a progress bar that is redrawn on a
// terminal, plain lines elsewhere.
#pragma once

#include <string>

#include "chimera/train/observer.h"

namespace chimera {

class StepLine {
 public:
  // For a run of `steps` steps. Prints a line every `log_every` steps (0 =
  // never).
  StepLine(int steps, int log_every);
  ~StepLine();
  StepLine(const StepLine&) = delete;
  StepLine& operator=(const StepLine&) = delete;

  void show(const StepReport& report);
  // Prints a line of its own; a bar is redrawn below it.
  void print(const std::string& line);

 private:
  [[nodiscard]] std::string text(const StepReport& report) const;
  [[nodiscard]] std::string bar(int step) const;

  int steps_;
  int log_every_;
  bool is_terminal_;
  bool has_bar_ = false;  // a progress bar is visible
  double step_s_ = 0;     // smoothed, to predict the remaining time
};

}  // namespace chimera
