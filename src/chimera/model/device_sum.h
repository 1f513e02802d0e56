// Collectives of ranks that have a device each. Those of threads of one process
// are queued on the devices and ordered by events: no thread waits for a
// device. Those of processes run on the host, over copies in pinned memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <span>

#include "chimera/comm/transport.h"
#include "chimera/model/device_stream.h"
#include "chimera/model/tensor_copies.h"

namespace chimera {

// One rank's contribution to one collective.
class DeviceSum final : public DeviceNumbers {
 public:
  // Uses the numbers of `flat` as they are at the end of the current stream,
  // and works on `stream`. The caller must not touch them until finish().
  DeviceSum(const at::Tensor& flat, const c10::Stream& stream)
      : flat_(flat),
        compute_(current_stream(flat.device())),
        stream_(stream),
        end_(end_of(compute_)) {}

  void run(CollectiveId::Kind kind,
           std::span<const NumberBuffer> members) override;
  void finish() override;
  NumberBuffer stage() override;
  bool is_ready() override { return copies_.is_ready(); }

 private:
  static void all_reduce(std::span<DeviceSum* const> members, bool only_shard);
  static void all_gather(std::span<DeviceSum* const> members);
  // Waits on this member's stream for all that `other` has queued.
  void wait_for(const DeviceSum& other) { other.end_->block(stream_); }
  void note_end() { end_ = end_of(stream_); }

  at::Tensor flat_;
  c10::Stream compute_;              // of the rank
  c10::Stream stream_;               // of the collective
  std::shared_ptr<c10::Event> end_;  // end of the work queued so far
  // For collectives between processes: the copy in pinned memory.
  TensorCopies copies_;
  at::Tensor host_;
};

// The numbers of `flat`, in its memory.
[[nodiscard]] NumberBuffer buffer_of(const at::Tensor& flat);
// The same for a collective; `stream`, on which it works, is that of a device.
[[nodiscard]] NumberBuffer buffer_of(const at::Tensor& flat,
                                     const std::optional<c10::Stream>& stream);

}  // namespace chimera
