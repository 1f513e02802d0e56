// One function per scheme, each in a separate file; it returns the scheme's
// entry in the registry. Letters as in the papers:
//   D workers (depth)   N micro-batches   v chunks   2f pipes   r, w a worker
#pragma once

#include "chimera/schedule/scheme.h"

namespace chimera {

[[nodiscard]] Scheme gpipe();
[[nodiscard]] Scheme one_f_one_b();
[[nodiscard]] Scheme interleaved();
[[nodiscard]] Scheme gems();
[[nodiscard]] Scheme pipedream();
[[nodiscard]] Scheme pipedream_2bw();
[[nodiscard]] Scheme chimera_scheme();
[[nodiscard]] Scheme zb_h1();
[[nodiscard]] Scheme zb_h2();
[[nodiscard]] Scheme zb_v();
[[nodiscard]] Scheme dualpipe();
[[nodiscard]] Scheme dualpipe_v();
[[nodiscard]] Scheme hanayo();
[[nodiscard]] Scheme v_half();
[[nodiscard]] Scheme v_min();
[[nodiscard]] Scheme one_f_one_b_vee();
[[nodiscard]] Scheme looped_bfs();
[[nodiscard]] Scheme bitpipe();
[[nodiscard]] Scheme planned_scheme();

// Helpers of the order files: making an action, and refusing a layout.

[[nodiscard]] inline Action compute(Op op, int pipe, int stage, int micro) {
  return {.op = op, .pipe = pipe, .stage = stage, .micro = micro};
}

// Refusals, each with the nearest legal values as hint.
[[nodiscard]] Diagnostic needs_depth_multiple(const Layout& layout, int factor);
// No diagnostic if opposite() can place 2f pipes: f divides D/2 (f = 1: any D).
[[nodiscard]] Diagnostics needs_opposite_pipes(const Layout& layout);
[[nodiscard]] Diagnostic needs_micros_multiple(const Layout& layout, int factor,
                                               const std::string& of);
[[nodiscard]] Diagnostic needs_micros_at_least(const Layout& layout, int least,
                                               const std::string& formula);

}  // namespace chimera
