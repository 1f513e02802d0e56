// Why a run between processes ends early, and who is told.
#pragma once

#include <cstdint>
#include <string>

namespace chimera {

// Kinds of failure. If ranks fail in different ways, the kind that comes first
// in this list becomes the reason on all of them, so that all end alike.
enum class FailureKind : std::uint8_t {
  kUsage,     // a mistake of the user that only running could show
  kPeerLost,  // another rank is dead or cut off
  kTimeout,   // a deadline has passed
  kNumeric,   // replicas differ
  kDisk,      // something could not be written
  kMemory,    // out of memory, or of threads
  kInternal,  // a bug
};

// The meaning of an exception for the run.
struct Cause {
  FailureKind kind = FailureKind::kInternal;
  std::string reason;
  // True if the weights of the other ranks are worth saving without this rank.
  bool can_recover = true;
};

// Why and how a run ends early: found by one rank, learnt by all.
struct Ending {
  FailureKind kind = FailureKind::kInternal;
  int origin = -1;     // rank that detected the end
  std::string reason;  // in the words of the rank that failed

  // The rank without which the others go on; -1 = none. Equal to `origin` if
  // the lost rank has failed by itself and reports its own failure.
  int lost = -1;
  bool is_dead = false;        // the lost rank's process has ended
  double silent_s = 0;         // time since the lost rank was last heard
  std::uint64_t progress = 0;  // last known progress of the lost rank

  [[nodiscard]] bool is_self_reported() const {
    return lost >= 0 && lost == origin;
  }
};

// Decides what this process says and does when the run ends early. Functions
// are called on threads of the transport.
class EndingHandler {
 public:
  EndingHandler() = default;
  EndingHandler(const EndingHandler&) = delete;
  EndingHandler& operator=(const EndingHandler&) = delete;
  virtual ~EndingHandler() = default;

  // The meaning of the exception that is being handled.
  // REQUIRES: called in a catch block.
  [[nodiscard]] virtual Cause cause_of_exception() = 0;
  // Says at once why the run ends. Called once.
  virtual void report(const Ending& ending) = 0;
  // Ends the process, since what MPI has under way can be neither finished nor
  // recalled. `kind` may come earlier in FailureKind than the one that was
  // reported, if another rank has failed since.
  [[noreturn]] virtual void leave(FailureKind kind) = 0;
};

}  // namespace chimera
