// How communication fails. These are the world's failures, so they are thrown,
// and caught once at the top of each worker.
#pragma once

#include <stdexcept>
#include <string>

namespace chimera {

class CommError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A wait lasted longer than the transport's deadline. Exit code 6.
class TimeoutError : public CommError {
 public:
  // `peer` is whom it waited for; -1 where nobody in particular.
  TimeoutError(const std::string& what, int peer)
      : CommError(what), peer_(peer) {}

  [[nodiscard]] int peer() const { return peer_; }

 private:
  int peer_;
};

// Another rank has given up and woken everybody; it has the reason.
class AbortedError : public CommError {
 public:
  using CommError::CommError;
};

}  // namespace chimera
