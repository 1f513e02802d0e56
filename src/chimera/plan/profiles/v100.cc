// The built-in profile v100; builtin_profiles.h tells where its figures come
// from.
#include "chimera/plan/builtin_profiles.h"

namespace chimera {

const std::string_view kV100Profile = R"toml(
[machine]
name = "v100"
description = "NVIDIA Tesla V100, float32"
memory_gb = 16
source = "PipeFisher (Osawa, Li, Hoefler, MLSys 2023), profiles of one block"

# assumed: InfiniBand and NVLink mixed, through host memory; nothing was measured
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
forward_ms = [1.231, 1.421, 1.576, 1.985, 3.261, 6.065, 12.052]
input_grad_ms = [0.682, 0.628, 0.836, 1.455, 2.669, 4.995, 9.843]
weight_grad_ms = [0.646, 0.595, 0.792, 1.378, 2.529, 4.732, 9.325]
activation_mib = [8.75, 16.5, 34.01, 66.52, 133.03, 264.06, 528.12]
workspace_mib = [12.4, 14.4, 19.2, 40.9, 78.9, 141.9, 217.9]

[bert-large]
layer = "block"
hidden = 1024
heads = 16
ffn = 4096
seq = 128
micro_batch = [1, 2, 4, 8, 16, 32, 64]
forward_ms = [1.306, 1.584, 1.902, 2.901, 5.438, 10.386, 19.977]
input_grad_ms = [0.63, 0.794, 1.329, 2.321, 4.389, 8.309, 16.474]
weight_grad_ms = [0.605, 0.762, 1.276, 2.228, 4.214, 7.976, 15.815]
activation_mib = [11, 22, 44.01, 88.02, 176.03, 352.06, 704.12]
workspace_mib = [18.9, 21.9, 27.9, 52, 104, 160, 287.9]

[opt-125m]
layer = "block"
hidden = 768
heads = 12
ffn = 3072
seq = 2048
micro_batch = [1, 2, 4, 8]
forward_ms = [6.442, 11.713, 23.143, 45.4]
input_grad_ms = [7.673, 15.331, 29.983, 58.849]
weight_grad_ms = [4.062, 8.116, 15.873, 31.156]
activation_mib = [600.02, 1200.03, 2400.06, 4800.12]
workspace_mib = [545, 1087.8, 2174.1, 4344.4]

[opt-350m]
layer = "block"
hidden = 1024
heads = 16
ffn = 4096
seq = 2048
micro_batch = [1, 2, 4, 8]
forward_ms = [9.879, 17.936, 35.527, 68.651]
input_grad_ms = [10.068, 20.23, 40.484, 80.981]
weight_grad_ms = [6.041, 12.138, 24.291, 48.589]
activation_mib = [792, 1584, 3168, 6336]
workspace_mib = [732, 1464.1, 2928.1, 5856.2]

[t5-base]
layer = "block"
hidden = 768
heads = 12
ffn = 3072
seq = 512
micro_batch = [1, 2, 4, 8, 16, 32, 64]
forward_ms = [1.604, 2.254, 3.912, 7.246, 14.23, 27.297, 53.955]
input_grad_ms = [1.25, 2.039, 3.683, 7.012, 13.581, 27.108, 53.705]
weight_grad_ms = [1.022, 1.668, 3.013, 5.737, 11.112, 22.179, 43.94]
activation_mib = [71.75, 130.5, 249.01, 486.02, 960.03, 1908.06, 3804.12]
workspace_mib = [22.5, 61, 133, 274.8, 565, 1141, 2293]

[t5-large]
layer = "block"
hidden = 1024
heads = 16
ffn = 4096
seq = 512
micro_batch = [1, 2, 4, 8, 16, 32, 64]
forward_ms = [2.104, 3.457, 6.274, 11.867, 22.871, 44.316, 86.202]
input_grad_ms = [1.875, 3.029, 5.768, 11.008, 21.657, 44.208, 84.682]
weight_grad_ms = [1.607, 2.596, 4.944, 9.435, 18.563, 37.892, 72.584]
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
forward_ms = [3.358, 6.068, 11.458, 22.066, 42.747, 83.138]
input_grad_ms = [2.944, 5.568, 10.625, 20.878, 42.558, 81.721]
weight_grad_ms = [2.524, 4.772, 9.107, 17.895, 36.479, 70.047]
activation_mib = [131.73, 263.46, 526.92, 1053.85, 2107.7, 4215.39]
workspace_mib = [91.4, 182.8, 365.7, 731.4, 1462.7, 2925.5]
)toml";

}  // namespace chimera
