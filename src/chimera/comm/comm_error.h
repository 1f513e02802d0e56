// Failures of communication. They come from outside the program, so they are
// exceptions, caught once at the top of each worker.
#pragma once

#include <stdexcept>
#include <string>

namespace chimera {

class CommError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A wait has lasted longer than the transport's deadline.
class TimeoutError : public CommError {
 public:
  // `peer` is the rank that was waited for; -1 if there was no single one.
  TimeoutError(const std::string& what, int peer)
      : CommError(what), peer_(peer) {}

  [[nodiscard]] int peer() const { return peer_; }

 private:
  int peer_;
};

// Another rank has aborted the run and woken all others; it has the reason.
class AbortedError : public CommError {
 public:
  using CommError::CommError;
};

}  // namespace chimera
