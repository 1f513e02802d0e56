// Measures messages and gradient sums on a transport, and fits the straight
// lines by which a profile describes them.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <vector>

#include "chimera/comm/transport.h"
#include "chimera/plan/profile.h"

namespace chimera {

struct LinkSample {
  double rounds = 1;  // number of message latencies in `seconds`
  double bytes = 0;   // bytes that pass one link
  double seconds = 0;
};

// Fits seconds = latency * rounds + s_per_byte * bytes with the least relative
// error. ENSURES: neither is below 0.
[[nodiscard]] LinkProfile fit_link(const std::vector<LinkSample>& samples);

// All ranks call these functions together; rank 0 gets the result.

// Round trips of tensors on `device` between ranks 0 and 1. REQUIRES: at least
// two ranks.
[[nodiscard]] std::vector<LinkSample> measure_messages(Transport& transport,
                                                       at::Device device);

// Sums over the first 2, 4, ... ranks and over all ranks. REQUIRES: the
// transport has the groups of bench_groups().
[[nodiscard]] std::vector<LinkSample> measure_sums(Transport& transport,
                                                   at::Device device);
[[nodiscard]] std::vector<std::vector<int>> bench_groups(int ranks);

}  // namespace chimera
