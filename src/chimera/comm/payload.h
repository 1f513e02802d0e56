// The content of a message. A transport does not look inside: between threads
// it passes the object itself, between processes it moves bytes().
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

namespace chimera {

class Payload {
 public:
  Payload() = default;
  Payload(const Payload&) = delete;
  Payload& operator=(const Payload&) = delete;
  virtual ~Payload() = default;

  // The whole content, contiguous. Both ends know its size beforehand.
  [[nodiscard]] virtual std::span<std::byte> bytes() = 0;

  // Content of a device is sent from host memory: its worker calls stage(), and
  // bytes() may be read once is_ready().
  virtual void stage() {}
  [[nodiscard]] virtual bool is_ready() { return true; }
};

using PayloadPtr = std::unique_ptr<Payload>;

// Makes a payload of the right size to receive into. A transport that passes
// objects never calls it.
using PayloadMaker = std::function<PayloadPtr()>;

}  // namespace chimera
