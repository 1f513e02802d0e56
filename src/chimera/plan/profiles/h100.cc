// The built-in profile h100. Nothing in it was measured: builtin_profiles.h
// tells how its figures are derived.
#include "chimera/plan/builtin_profiles.h"

namespace chimera {

const std::string_view kH100Profile = R"toml(
[machine]
name = "h100"
description = "NVIDIA H100 80 GB, SXM5"
memory_gb = 80
source = "published peak rates (NVIDIA's datasheet); the efficiency is assumed"

# assumed: 80 % of InfiniBand NDR, 400 Gbit/s for each GPU; nothing was measured
[link]
latency_us = 10
gb_per_s = 40

# assumed: 80 % of NVLink, 450 GB/s in each direction, within a node
[node]
ranks = 8
latency_us = 5
gb_per_s = 360

# assumed: Adam moves 28 bytes a parameter, at a third of the memory's 3350 GB/s
[update]
ns_per_parameter = 0.025

# assumed: 70 % of the 66.9 TFLOP/s of float32 without tensor cores
[gpt-4096]
layer = "block"
derived = true
hidden = 4096
heads = 32
ffn = 16384
seq = 2048
micro_batch = [1]
forward_ms = [19.077]
input_grad_ms = [20.544]
weight_grad_ms = [17.609]

# assumed: 50 % of the 989.4 TFLOP/s of bf16 tensor cores, without sparsity
[gpt-4096-bf16]
layer = "block"
derived = true
precision = "bf16"
hidden = 4096
heads = 32
ffn = 16384
seq = 2048
micro_batch = [1]
forward_ms = [1.806]
input_grad_ms = [1.945]
weight_grad_ms = [1.667]
)toml";

}  // namespace chimera
