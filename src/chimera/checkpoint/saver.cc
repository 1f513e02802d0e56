#include "chimera/checkpoint/saver.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <new>
#include <numeric>

#include "chimera/base/check.h"
#include "chimera/base/files.h"
#include "chimera/checkpoint/catalog.h"

namespace chimera {
namespace {

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Lowers this thread's priority: training comes first on a busy machine.
void step_back() {
  constexpr int kNice = 10;
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNice);
}

// Writes to every page of new memory.
void touch(const std::stop_token& stop, std::byte* memory, std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  for (std::size_t at = 0; at < bytes && !stop.stop_requested(); at += kPage) {
    memory[at] = std::byte{0};
  }
}

bool is_ready(const auto& future) {
  return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

void Saver::prepare(std::size_t bytes) {
  try {
    make_memory(bytes);
  } catch (const std::bad_alloc&) {
    return;  // the save itself reports the failure
  }
  toucher_ = std::jthread([this](const std::stop_token& stop) {
    step_back();
    touch(stop, memory_.get(), capacity_);
  });
}

void Saver::make_memory(std::size_t bytes) {
  memory_.reset();
  capacity_ = 0;
  memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
  capacity_ = bytes;
}

void Saver::start(const Manifest& head, const std::vector<StatePiece>& pieces) {
  CHIMERA_CHECK(!open_, "the save before has not been settled");
  open_.emplace();
  open_->started = Clock::now();
  open_->step = head.step;
  open_->folder = saving_path(options_.run_dir, head.step);
  part_ = Part::kWriting;
  try {
    copy(pieces);
  } catch (const std::bad_alloc&) {
    error_ = "not enough memory for a copy of this worker's weights";
    part_ = Part::kFailed;
    return;
  }
  open_->stall_s = seconds_since(open_->started);
  const PartOrder order{
      .folder = open_->folder, .rank = options_.rank, .head = head};
  open_->part = std::async(std::launch::async, [this, order]() -> std::string {
    step_back();
    try {
      write_part(order, copied_);
      copied_.clear();  // pinned memory is scarce
      return "";
    } catch (const std::exception& error) {
      return error.what();
    }
  });
}

// Copies the pieces that are views. Those of a device are copies already, which
// write_part waits for.
void Saver::copy(const std::vector<StatePiece>& pieces) {
  std::size_t bytes = 0;
  for (const StatePiece& piece : pieces) {
    if (!piece.copy) bytes += piece.numbers.bytes();
  }
  // Stops the thread that zeroes new memory, because it would overwrite the
  // copied state.
  toucher_.request_stop();
  if (toucher_.joinable()) toucher_.join();
  if (bytes > capacity_) make_memory(bytes);
  copied_ = pieces;
  std::byte* at = memory_.get();
  for (StatePiece& piece : copied_) {
    if (piece.copy) continue;
    const std::size_t size = piece.numbers.bytes();
    std::memcpy(at, piece.numbers.data, size);
    piece.numbers.data = at;
    at += size;
  }
}

Saver::Part Saver::part() {
  if (part_ != Part::kWriting || !is_ready(open_->part)) return part_;
  return wait_part();
}

Saver::Part Saver::wait_part() {
  if (part_ != Part::kWriting) return part_;
  error_ = open_->part.get();
  part_ = error_.empty() ? Part::kWritten : Part::kFailed;
  return part_;
}

void Saver::settle(bool all_written) {
  CHIMERA_CHECK(part_ == Part::kWritten || part_ == Part::kFailed,
                "a save is settled while this rank still writes");
  // Moves the open save into the commit, so that training may begin another
  // one.
  OpenSave save = std::move(*open_);
  open_.reset();
  if (options_.rank == 0) {
    const std::string error = part_ == Part::kFailed
                                  ? error_
                                  : "another worker could not write its part";
    commit_ = std::async(
        std::launch::async,
        [this, all_written, error, save = std::move(save)]() -> SaveResult {
          if (all_written) return commit(save);
          give_up_parts(save.folder);
          return {.step = save.step,
                  .error = error,
                  .stall_s = save.stall_s,
                  .total_s = seconds_since(save.started)};
        });
  }
  part_ = Part::kIdle;
}

SaveResult Saver::commit(const OpenSave& save) const {
  SaveResult result{.step = save.step, .stall_s = save.stall_s};
  CommitOrder order{.run_dir = options_.run_dir,
                    .folder = save.folder,
                    .ranks = std::vector<int>(options_.ranks),
                    .keep = options_.keep};
  std::iota(order.ranks.begin(), order.ranks.end(), 0);
  try {
    Committed committed = commit_parts(order);
    result.path = std::move(committed.path);
    result.warning = std::move(committed.warning);
  } catch (const std::exception& error) {
    result.error = error.what();
    give_up_parts(save.folder);
  }
  result.total_s = seconds_since(save.started);
  return result;
}

std::optional<SaveResult> Saver::result(bool wait) {
  if (!commit_.valid()) return std::nullopt;
  if (!wait && !is_ready(commit_)) return std::nullopt;
  return commit_.get();
}

}  // namespace chimera
