#include "chimera/commands/step_line.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "chimera/console/console.h"

namespace chimera {
namespace {

// The most this process has had in memory so far.
double peak_memory_gb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1e6;
}

// 950, 12.3k, 4.56M.
std::string short_number(double value) {
  if (value >= 1e6) return fmt::format("{:.2f}M", value / 1e6);
  if (value >= 1e3) return fmt::format("{:.1f}k", value / 1e3);
  return fmt::format("{:.0f}", value);
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

std::string StepLine::text(const StepReport& report) const {
  std::string line = fmt::format("step {}/{}  ", report.step, steps_);
  if (report.tokens > 0) {
    line += fmt::format("loss {:.4f}  |g| {:.3g}  lr {:.3g}  {} tok/s  ",
                        report.loss, report.grad_norm, report.lr,
                        short_number(report.tokens_per_s));
  }
  if (report.evaluation_loss) {
    line += fmt::format("eval {:.4f}  ", *report.evaluation_loss);
  }
  if (report.mfu > 0) line += fmt::format("MFU {:.1f} %  ", 100 * report.mfu);
  line +=
      fmt::format("{:.1f} ms  bubble {:.1f} %  {:.2f} GB", report.step_s * 1e3,
                  100 * report.bubble, peak_memory_gb());
  if (report.skipped) line += "  update skipped: not a number";
  return line + "  left " + time_text(step_s_ * (steps_ - report.step));
}

std::string StepLine::bar(int step) const {
  constexpr int kWidth = 30;
  const int done = step * kWidth / std::max(1, steps_);
  return fmt::format("[{}{}] {}/{}  left {}", std::string(done, '='),
                     std::string(kWidth - done, ' '), step, steps_,
                     time_text(step_s_ * (steps_ - step)));
}

}  // namespace chimera
