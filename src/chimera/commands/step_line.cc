#include "chimera/commands/step_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "chimera/console/console.h"

namespace chimera {
namespace {

// Examples: 950, 12.3k, 4.56M.
std::string short_number(double value) {
  if (value >= 1e6) return fmt::format("{:.2f}M", value / 1e6);
  if (value >= 1e3) return fmt::format("{:.1f}k", value / 1e3);
  return fmt::format("{:.0f}", value);
}

// Examples: 7.5 ms, 856 ms, 12.3 s.
std::string short_time(double seconds) {
  if (seconds >= 10) return fmt::format("{:.1f} s", seconds);
  const double ms = 1e3 * seconds;
  return ms >= 100 ? fmt::format("{:.0f} ms", ms)
                   : fmt::format("{:.1f} ms", ms);
}

}  // namespace

StepLine::StepLine(int steps, int log_every)
    : steps_(steps),
      log_every_(log_every),
      is_terminal_(isatty(STDERR_FILENO) != 0) {}

StepLine::~StepLine() {
  if (has_bar_) std::cerr << "\r\033[K" << std::flush;
}

void StepLine::show(const StepReport& report) {
  step_s_ = step_s_ == 0 ? report.step_s : 0.9 * step_s_ + 0.1 * report.step_s;
  const bool due = log_every_ > 0 &&
                   (report.step % log_every_ == 0 || report.step == steps_ ||
                    report.step == 1 || report.evaluation_loss);
  if (due) print(text(report));
  if (is_terminal_ && report.step < steps_) {
    std::cerr << "\r\033[K" << bar(report.step) << std::flush;
    has_bar_ = true;
  }
}

void StepLine::print(const std::string& line) {
  if (has_bar_) std::cerr << "\r\033[K";
  has_bar_ = false;
  std::cerr << line + "\n" << std::flush;
}

// At most 80 columns for runs of up to 99,999 steps, with numbers aligned.
// `train --help` explains them.
std::string StepLine::text(const StepReport& report) const {
  const std::size_t digits = std::to_string(steps_).size();
  std::string line = fmt::format("step {:>{}}/{}", report.step, digits, steps_);
  if (report.tokens > 0) {
    line += fmt::format("  loss {:7.4f}  {:>6} tok/s", report.loss,
                        short_number(report.tokens_per_s));
  }
  if (report.mfu > 0) line += fmt::format("  MFU {:5.1f}%", 100 * report.mfu);
  line += fmt::format("  {:>8}  bubble {:4.1f}%", short_time(report.step_s),
                      100 * report.bubble);
  if (report.evaluation_loss) {
    line += fmt::format("\n{:{}}  eval {:7.4f}", "", 6 + 2 * digits,
                        *report.evaluation_loss);
  }
  if (report.skipped) line += "\n     update skipped: not a number";
  return line;
}

std::string StepLine::bar(int step) const {
  constexpr int kWidth = 30;
  const int done = step * kWidth / std::max(1, steps_);
  return fmt::format("[{}{}] {}/{}  left {}", std::string(done, '='),
                     std::string(kWidth - done, ' '), step, steps_,
                     time_text(step_s_ * (steps_ - step)));
}

}  // namespace chimera
