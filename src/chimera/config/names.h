// The choices of run.toml that no other module declares.
#pragma once

#include <array>
#include <string_view>

#include "chimera/base/names.h"

namespace chimera {

enum class ModelKind { kGpt2, kBert, kEmulated };
inline constexpr auto kModelKindNames =
    std::to_array<std::string_view>({"gpt2", "bert", "emulated"});
constexpr Names names_of(ModelKind) { return kModelKindNames; }

enum class OptimizerKind { kAdamW, kAdam, kSgd };
inline constexpr auto kOptimizerKindNames =
    std::to_array<std::string_view>({"adamw", "adam", "sgd"});
constexpr Names names_of(OptimizerKind) { return kOptimizerKindNames; }

enum class LrDecay { kConstant, kLinear, kCosine };
inline constexpr auto kLrDecayNames =
    std::to_array<std::string_view>({"constant", "linear", "cosine"});
constexpr Names names_of(LrDecay) { return kLrDecayNames; }

enum class OnNan { kStop, kSkip };
inline constexpr auto kOnNanNames =
    std::to_array<std::string_view>({"stop", "skip"});
constexpr Names names_of(OnNan) { return kOnNanNames; }

enum class SampleOrder { kShuffled, kSequential };
inline constexpr auto kSampleOrderNames =
    std::to_array<std::string_view>({"shuffled", "sequential"});
constexpr Names names_of(SampleOrder) { return kSampleOrderNames; }

enum class TransportKind { kAuto, kThreads, kMpi };
inline constexpr auto kTransportKindNames =
    std::to_array<std::string_view>({"auto", "threads", "mpi"});
constexpr Names names_of(TransportKind) { return kTransportKindNames; }

}  // namespace chimera
