// Finds missing waits between streams, by vector clocks, as
// torch.cuda._sanitizer does. Every operator of the test device takes place at
// once, in the order of its calls; whether it could also have taken place
// earlier or later, on a real device, is what this class decides.
//
// A clock says how many operators of each stream are surely done. A stream's
// own clock grows with each operator; an event keeps a copy of it; a stream
// that waits for an event, and a host thread that waits for a stream, take the
// maximum. An operator is behind another one if its stream's clock counts it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace chimera::testing {

using VectorClock = std::map<int, std::uint64_t>;  // by stream

// Bytes of device memory that an operator uses.
struct Use {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  bool writes = false;
};

// Thread-safe.
class OrderChecker {
 public:
  // Adds the words that say what device `index` was doing, to reports.
  void set_action_source(std::function<std::string(int index)> source);

  void allocated(const std::byte* begin, std::size_t size, int stream);
  // Memory goes back to the stream that it was allocated on and is reused there
  // at once: reports uses by other streams that it has not waited for.
  void freed(const std::byte* begin);

  // Records an operator on `stream` and returns its number. Reports accesses
  // that it is not ordered behind: writes of what it uses, and uses of what it
  // writes.
  std::uint64_t launch(int stream, const std::string& name,
                       const std::vector<Use>& uses);

  [[nodiscard]] VectorClock record(int stream);
  void wait(int stream, const VectorClock& event);
  // This host thread waits until all that `event` counts is done. The wait is
  // counted for `device`.
  void host_wait(int device, const VectorClock& event);
  // Notes that the host knows, without a wait, that all that `event` counts is
  // done.
  void host_knows(const VectorClock& event);
  // Whether some host thread knows that operator `number` of `stream` is done.
  [[nodiscard]] bool is_known(int stream, std::uint64_t number);

  // The host has touched memory that only the device may touch, or that a copy
  // still uses.
  void host_touched(const std::byte* place, const std::string& what);

  [[nodiscard]] std::vector<std::string> take_reports();
  [[nodiscard]] std::int64_t host_waits(int device);
  void reset_host_waits();

 private:
  struct Access {
    Use use;
    int stream = 0;
    std::uint64_t number = 0;
    std::string name;
  };
  struct Block {
    std::size_t size = 0;
    int stream = 0;
    std::vector<Access> accesses;  // those that later ones may conflict with
  };

  [[nodiscard]] bool is_behind(int stream, const Access& access) const;
  [[nodiscard]] Block* block_of(const std::byte* place);
  void check(Block& block, const Access& access);
  void report(int stream, const std::string& text);

  std::mutex mutex_;  // guards everything below
  std::function<std::string(int index)> action_source_;
  std::map<int, VectorClock> streams_;
  std::map<std::thread::id, VectorClock> hosts_;
  std::map<const std::byte*, Block> blocks_;
  std::map<int, std::int64_t> host_waits_;
  std::vector<std::string> reports_;
};

// Streams of all devices have one numbering.
inline constexpr int kStreamsPerDevice = 1024;
[[nodiscard]] inline int device_of_stream(int stream) {
  return stream / kStreamsPerDevice;
}

}  // namespace chimera::testing
