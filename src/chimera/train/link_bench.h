// What messages and gradient sums take on a transport, and the straight lines
// that a profile describes them by.
#pragma once

#include <functional>
#include <vector>

#include "chimera/comm/transport.h"
#include "chimera/plan/profile.h"

namespace chimera {

struct LinkSample {
  double rounds = 1;  // latencies that it has
  double bytes = 0;   // that pass one link
  double seconds = 0;
};

// latency * rounds + s_per_byte * bytes, with the least relative error; neither
// is below 0.
[[nodiscard]] LinkProfile fit_link(const std::vector<LinkSample>& samples);

// All ranks call these together, and rank 0 has the result.

// Between ranks 0 and 1, there and back. REQUIRES: two ranks at least.
[[nodiscard]] std::vector<LinkSample> measure_messages(Transport& transport);

// Of the first 2, 4, ... ranks, and of all: the groups of the transport by
// number, as bench_groups() gives them.
[[nodiscard]] std::vector<LinkSample> measure_sums(Transport& transport);
[[nodiscard]] std::vector<std::vector<int>> bench_groups(int ranks);

}  // namespace chimera
