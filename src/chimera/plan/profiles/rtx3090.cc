// The built-in profile rtx3090; builtin_profiles.h tells where its figures come
// from.
#include "chimera/plan/builtin_profiles.h"

namespace chimera {

const std::string_view kRtx3090Profile = R"toml(
[machine]
name = "rtx3090"
description = "NVIDIA GeForce RTX 3090, float32"
memory_gb = 24
source = "PipeFisher (Osawa, Li, Hoefler, MLSys 2023), profiles of one block"

# assumed: PCI Express through host memory; nothing was measured
[link]
latency_us = 20
gb_per_s = 5

# assumed: Adam moves 28 bytes a parameter, at a third of the memory's bandwidth
[update]
ns_per_parameter = 0.09

[bert-base]
layer = "block"
hidden = 768
heads = 12
ffn = 3072
seq = 128
micro_batch = [1, 2, 4, 8, 16, 32, 64]
forward_ms = [0.871, 0.842, 0.882, 1.062, 1.679, 3.015, 5.719]
input_grad_ms = [0.503, 0.509, 0.49, 0.72, 1.357, 2.612, 4.582]
weight_grad_ms = [0.477, 0.482, 0.464, 0.682, 1.285, 2.475, 4.341]
activation_mib = [8.75, 16.5, 34.01, 66.52, 133.03, 264.06, 528.12]
workspace_mib = [12.4, 14.4, 19.2, 40.9, 78.9, 121.9, 217.9]

[bert-large]
layer = "block"
hidden = 1024
heads = 16
ffn = 4096
seq = 128
micro_batch = [1, 2, 4, 8, 16, 32, 64]
forward_ms = [0.85, 0.857, 1.04, 1.343, 2.46, 4.854, 9.1]
input_grad_ms = [0.502, 0.504, 0.682, 1.151, 2.118, 3.968, 7.561]
weight_grad_ms = [0.482, 0.484, 0.655, 1.105, 2.033, 3.809, 7.259]
activation_mib = [11, 22, 44.01, 88.02, 176.03, 352.06, 704.12]
workspace_mib = [18.9, 21.9, 27.9, 52, 102, 143.9, 287.9]

[opt-125m]
layer = "block"
hidden = 768
heads = 12
ffn = 3072
seq = 2048
micro_batch = [1, 2, 4, 8]
forward_ms = [4.171, 7.637, 14.832, 29.644]
input_grad_ms = [5.43, 10.085, 19.313, 38.176]
weight_grad_ms = [2.875, 5.339, 10.224, 20.211]
activation_mib = [600.02, 1200.03, 2400.06, 4800.12]
workspace_mib = [545, 1087.8, 2174.1, 4344.4]

[opt-350m]
layer = "block"
hidden = 1024
heads = 16
ffn = 4096
seq = 2048
micro_batch = [1, 2, 4, 8]
forward_ms = [5.851, 11.048, 21.35, 42.172]
input_grad_ms = [6.774, 13.149, 25.656, 50.149]
weight_grad_ms = [4.065, 7.89, 15.394, 30.089]
activation_mib = [792, 1584, 3168, 6336]
workspace_mib = [732, 1464.1, 2928.1, 5856.2]

[t5-base]
layer = "block"
hidden = 768
heads = 12
ffn = 3072
seq = 512
micro_batch = [1, 2, 4, 8, 16, 32, 64]
forward_ms = [0.982, 1.275, 2.221, 3.97, 7.479, 14.785, 28.89]
input_grad_ms = [0.682, 1.068, 2.024, 3.802, 6.852, 13.484, 26.801]
weight_grad_ms = [0.558, 0.874, 1.656, 3.111, 5.606, 11.033, 21.928]
activation_mib = [71.75, 130.5, 249.01, 486.02, 960.03, 1908.06, 3804.12]
workspace_mib = [22.5, 61, 133, 274.8, 565, 1141, 2293]

[t5-large]
layer = "block"
hidden = 1024
heads = 16
ffn = 4096
seq = 512
micro_batch = [1, 2, 4, 8, 16, 32, 64]
forward_ms = [1.118, 1.77, 3.177, 6.12, 11.434, 22.185, 43.891]
input_grad_ms = [0.966, 1.601, 3, 5.678, 10.755, 20.591, 40.915]
weight_grad_ms = [0.828, 1.372, 2.572, 4.867, 9.219, 17.65, 35.07]
activation_mib = [95, 174, 332.01, 648.02, 1280.03, 2544.06, 5072.12]
workspace_mib = [31, 79, 175, 367, 751, 1519, 3055]

# Not measured. Derived by FLOP scaling from t5-large above, the measured block
# with the nearest share of attention (7.6 against 7.7 per cent of the FLOPs): a
# micro-batch of b takes as long as one of 1.927 b there. Bytes by the formulas of
# plan/model_layers.h. A fitted input, to be replaced by a measurement.
[gpt2-1280]
layer = "block"
derived = true
hidden = 1280
heads = 20
ffn = 5120
seq = 632
micro_batch = [1, 2, 4, 8, 16, 32]
forward_ms = [1.722, 3.074, 5.905, 11.046, 21.399, 42.303]
input_grad_ms = [1.555, 2.898, 5.482, 10.384, 19.872, 39.428]
weight_grad_ms = [1.333, 2.484, 4.699, 8.9, 17.033, 33.796]
activation_mib = [131.73, 263.46, 526.92, 1053.85, 2107.7, 4215.39]
workspace_mib = [91.4, 182.8, 365.7, 731.4, 1462.7, 2925.5]
)toml";

}  // namespace chimera
