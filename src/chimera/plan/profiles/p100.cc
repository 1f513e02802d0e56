// The built-in profile p100; builtin_profiles.h tells where its figures come
// from.
#include "chimera/plan/builtin_profiles.h"

namespace chimera {

const std::string_view kP100Profile = R"toml(
[machine]
name = "p100"
description = "NVIDIA Tesla P100, float32"
memory_gb = 16
source = "PipeFisher (Osawa, Li, Hoefler, MLSys 2023), profiles of one block"

# Not measured: message_us, both bandwidths of sums and the block factors are
# fitted to figures 11, 13 and 14 of the paper (Li & Hoefler, SC 2021) by
# experiments/fit_links.py. They describe its software too: Gloo through host
# memory, queued to helper threads, so that sends do not block. The latencies are
# assumed.
[link]
latency_us = 50
gb_per_s = 0
message_us = 17500

# of one ring, and of all rings of a node
[sum]
latency_us = 50
gb_per_s = 1.13
node_gb_per_s = 2.31

[block_factor]
gpt2 = 1.26
bert = 1.33

# assumed: Adam moves 28 bytes a parameter, at a third of the memory's bandwidth
[update]
ns_per_parameter = 0.12

[bert-base]
layer = "block"
hidden = 768
heads = 12
ffn = 3072
seq = 128
micro_batch = [1, 2, 4, 8, 16, 32, 64]
forward_ms = [1.011, 1.229, 1.573, 2.734, 5.035, 9.748, 18.863]
input_grad_ms = [0.62, 0.878, 1.361, 2.388, 4.414, 8.447, 16.554]
weight_grad_ms = [0.587, 0.832, 1.289, 2.263, 4.182, 8.003, 15.682]
activation_mib = [8.75, 16.5, 34.01, 66.52, 133.03, 264.06, 528.12]
workspace_mib = [12.4, 14.4, 19.2, 40.9, 78.9, 117.9, 217.9]

[bert-large]
layer = "block"
hidden = 1024
heads = 16
ffn = 4096
seq = 128
micro_batch = [1, 2, 4, 8, 16, 32, 64]
forward_ms = [1.162, 1.515, 2.518, 4.5, 9.299, 16.1, 31.069]
input_grad_ms = [0.853, 1.309, 2.142, 3.905, 7.59, 13.751, 26.982]
weight_grad_ms = [0.819, 1.256, 2.056, 3.748, 7.286, 13.201, 25.902]
activation_mib = [11, 22, 44.01, 88.02, 176.03, 352.06, 704.12]
workspace_mib = [18.9, 21.9, 27.9, 52, 96, 143.9, 287.9]

[opt-125m]
layer = "block"
hidden = 768
heads = 12
ffn = 3072
seq = 2048
micro_batch = [1, 2, 4, 8]
forward_ms = [10.907, 20.451, 39.835, 77.712]
input_grad_ms = [13.052, 25.918, 50.411, 99.819]
weight_grad_ms = [6.91, 13.722, 26.688, 52.845]
activation_mib = [600.02, 1200.03, 2400.06, 4800.12]
workspace_mib = [545, 1087.8, 2174.1, 4344.4]

[opt-350m]
layer = "block"
hidden = 1024
heads = 16
ffn = 4096
seq = 2048
micro_batch = [1, 2, 4, 8]
forward_ms = [17.367, 30.129, 59.175, 116.291]
input_grad_ms = [17.928, 34.478, 67.728, 133.626]
weight_grad_ms = [10.757, 20.687, 40.637, 80.175]
activation_mib = [792, 1584, 3168, 6336]
workspace_mib = [732, 1464.1, 2928.1, 5856.2]

[t5-base]
layer = "block"
hidden = 768
heads = 12
ffn = 3072
seq = 512
micro_batch = [1, 2, 4, 8, 16, 32, 64, 128]
forward_ms = [1.992, 3.313, 6.03, 11.581, 22.335, 42.781, 85.013, 169.874]
input_grad_ms = [1.932, 3.213, 6.04, 11.68, 22.748, 44.352, 89.861, 179.927]
weight_grad_ms = [1.58, 2.629, 4.942, 9.556, 18.612, 36.288, 73.523, 147.213]
activation_mib = [71.75, 128.51, 244.02, 475.03, 937.06, 1861.12, 3709.25,
  7405.5]
workspace_mib = [25.2, 63, 135, 278.2, 567, 1143, 2295, 4599]

[t5-large]
layer = "block"
hidden = 1024
heads = 16
ffn = 4096
seq = 512
micro_batch = [1, 2, 4, 8, 16, 32, 64]
forward_ms = [3.172, 5.279, 10.634, 18.474, 35.712, 69.646, 137.009]
input_grad_ms = [3.038, 5.223, 10.175, 18.424, 35.765, 69.707, 138.746]
weight_grad_ms = [2.604, 4.477, 8.721, 15.792, 30.656, 59.749, 118.925]
activation_mib = [94, 171.01, 325.02, 633.03, 1249.06, 2481.12, 4945.25]
workspace_mib = [32, 80, 176, 368, 752, 1520, 3056]

# Not measured. The head of the paper's BERT, which runs on all tokens (by
# default a head sees the masked ones only), derived by FLOPs from bert-large.
[bert-head]
layer = "head"
derived = true
model = "bert"
hidden = 1024
seq = 128
vocab = 30522
micro_batch = [1, 2, 4, 8, 16, 32]
forward_ms = [1.774, 3.029, 5.737, 11.052, 19.958, 38.785]
input_grad_ms = [1.524, 2.596, 4.855, 9.178, 17.161, 33.802]
weight_grad_ms = [1.462, 2.492, 4.66, 8.81, 16.474, 32.449]

# Not measured. Derived by FLOP scaling from t5-large above, the measured block
# with the nearest share of attention (7.6 against 7.7 per cent of the FLOPs): a
# micro-batch of b takes as long as one of 1.927 b there. Bytes by the formulas of
# plan/model_layers.h.
[gpt2-1280]
layer = "block"
derived = true
hidden = 1280
heads = 20
ffn = 5120
seq = 632
micro_batch = [1, 2, 4, 8, 16, 32]
forward_ms = [5.125, 10.242, 17.901, 34.451, 67.164, 132.081]
input_grad_ms = [5.063, 9.812, 17.82, 34.497, 67.224, 133.696]
weight_grad_ms = [4.34, 8.411, 15.274, 29.569, 57.621, 114.596]
activation_mib = [131.73, 263.46, 526.92, 1053.85, 2107.7, 4215.39]
workspace_mib = [91.4, 182.8, 365.7, 731.4, 1462.7, 2925.5]
)toml";

}  // namespace chimera
