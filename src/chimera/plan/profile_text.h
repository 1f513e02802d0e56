// profile.toml in, Profile out, or every mistake at once; and back.
//
//   [machine]                # name; description, source, memory_gb; for
//   name = "p100"            # workers of one host: cores, threads, contention,
//                            # jitter
//   [link]                   # of a message: both required, 0 GB/s = unlimited
//   latency_us = 50
//   gb_per_s = 1             # blocking = true: a worker waits for its sends;
//                            # message_us: of each message beside its bytes
//   [sum]                    # of gradient sums; left out: as [link]. Has
//                            # latency_us, gb_per_s; node_gb_per_s: of all sums
//                            # of a worker that run at once, together
//   [node]                   # links within a node; left out: as between nodes
//   ranks = 8                # that share a node; all three required
//   latency_us = 5
//   gb_per_s = 200
//   [update]                 # left out: updates are free
//   ns_per_parameter = 0.1
//   [block_factor]           # how much longer a block takes than its table
//   bert = 1.4               # says: gpt2, bert, llama; left out: 1
//   [bert-large]             # any other name is a layer
//   layer = "block"          # or embedding, head: these need model and vocab
//   hidden = 1024            # heads, ffn (blocks), seq
//   micro_batch = [1, 2, 4]  # ascending; the lists below are as long
//   forward_ms = [1.2, 1.5, 2.5]      # also input_grad_ms, weight_grad_ms
//   activation_mib = [11, 22, 44]     # left out: estimated from the shape
//   workspace_mib = [19, 22, 28]      # same; also deferred_mib and
//                                     # input_workspace_mib
//   spread = [0.01, 0.01, 0.02]       # may be left out
//   derived = true           # not measured (default false)
//
// The codes are those of run.toml for the same mistakes, and
//   E601 micro-batch sizes that do not ascend
//   E602 no block
#pragma once

#include <string>
#include <string_view>

#include "chimera/base/result.h"
#include "chimera/plan/profile.h"

namespace chimera {

// `text` is untrusted; `file_name` only names it in errors.
[[nodiscard]] Result<Profile> parse_profile(std::string_view text,
                                            const std::string& file_name);

// Reads back as the same profile, but for the last digits of numbers.
[[nodiscard]] std::string print_profile(const Profile& profile);

}  // namespace chimera
