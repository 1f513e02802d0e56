// What travels between stages. A transport does not look inside: between
// threads it hands the object itself over, between processes it moves bytes().
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

  // All of it, contiguous; its size is known to both ends beforehand.
  [[nodiscard]] virtual std::span<std::byte> bytes() = 0;
};

using PayloadPtr = std::unique_ptr<Payload>;

// Makes a payload of the right size to receive into. A transport that hands
// objects over never calls it.
using PayloadMaker = std::function<PayloadPtr()>;

}  // namespace chimera
