// The built-in profile a100. Nothing in it was measured: builtin_profiles.h
// tells how its figures are derived.
#include "chimera/plan/builtin_profiles.h"

namespace chimera {

const std::string_view kA100Profile = R"toml(
[machine]
name = "a100"
description = "NVIDIA A100 80 GB, SXM4"
memory_gb = 80
source = "published peak rates (NVIDIA's datasheet); the efficiency is assumed"

# assumed: 80 % of InfiniBand HDR, 200 Gbit/s for each GPU; nothing was measured
[link]
latency_us = 10
gb_per_s = 20

# assumed: 80 % of NVLink, 300 GB/s in each direction, within a node
[node]
ranks = 8
latency_us = 5
gb_per_s = 240

# assumed: Adam moves 28 bytes a parameter, at a third of the memory's 2039 GB/s
[update]
ns_per_parameter = 0.041

# assumed: 70 % of the 19.5 TFLOP/s of float32 without tensor cores
[gpt-4096]
layer = "block"
derived = true
hidden = 4096
heads = 32
ffn = 16384
seq = 2048
micro_batch = [1]
forward_ms = [65.447]
input_grad_ms = [70.482]
weight_grad_ms = [60.413]

# assumed: 50 % of the 312 TFLOP/s of bf16 tensor cores, without sparsity
[gpt-4096-bf16]
layer = "block"
derived = true
precision = "bf16"
hidden = 4096
heads = 32
ffn = 16384
seq = 2048
micro_batch = [1]
forward_ms = [5.727]
input_grad_ms = [6.167]
weight_grad_ms = [5.286]
)toml";

}  // namespace chimera
