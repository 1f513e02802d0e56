// The choices of run.toml that no other module declares.
#pragma once

#include <array>
#include <string_view>

#include "chimera/base/names.h"

namespace chimera {

enum class ModelKind { kGpt2, kBert, kLlama, kEmulated };
inline constexpr auto kModelKindNames =
    std::to_array<std::string_view>({"gpt2", "bert", "llama", "emulated"});
constexpr Names names_of(ModelKind) { return kModelKindNames; }

// True if each token is predicted from those before it.
constexpr bool is_causal(ModelKind kind) {
  return kind == ModelKind::kGpt2 || kind == ModelKind::kLlama;
}

// The members of the Llama family, named as model_type in config.json.
enum class LlamaVariant { kLlama, kMistral, kQwen2, kQwen3 };
inline constexpr auto kLlamaVariantNames =
    std::to_array<std::string_view>({"llama", "mistral", "qwen2", "qwen3"});
constexpr Names names_of(LlamaVariant) { return kLlamaVariantNames; }

// How rotary frequencies are stretched, named as rope_type in config.json.
enum class RopeType { kDefault, kLinear, kLlama3 };
inline constexpr auto kRopeTypeNames =
    std::to_array<std::string_view>({"default", "linear", "llama3"});
constexpr Names names_of(RopeType) { return kRopeTypeNames; }

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

// When workers wait for the vote that decides about updates: before the
// updates, or in the next step.
enum class VoteMode { kWait, kLate };
inline constexpr auto kVoteModeNames =
    std::to_array<std::string_view>({"wait", "late"});
constexpr Names names_of(VoteMode) { return kVoteModeNames; }

// The number format of matrix products and activations.
enum class Precision { kFloat32, kBf16 };
inline constexpr auto kPrecisionNames =
    std::to_array<std::string_view>({"float32", "bf16"});
constexpr Names names_of(Precision) { return kPrecisionNames; }

enum class SampleOrder { kShuffled, kSequential };
inline constexpr auto kSampleOrderNames =
    std::to_array<std::string_view>({"shuffled", "sequential"});
constexpr Names names_of(SampleOrder) { return kSampleOrderNames; }

enum class TokenType { kAuto, kUint16, kUint32 };
inline constexpr auto kTokenTypeNames =
    std::to_array<std::string_view>({"auto", "uint16", "uint32"});
constexpr Names names_of(TokenType) { return kTokenTypeNames; }

enum class Packing { kWindows, kDocuments };
inline constexpr auto kPackingNames =
    std::to_array<std::string_view>({"none", "documents"});
constexpr Names names_of(Packing) { return kPackingNames; }

enum class TransportKind { kAuto, kThreads, kMpi };
inline constexpr auto kTransportKindNames =
    std::to_array<std::string_view>({"auto", "threads", "mpi"});
constexpr Names names_of(TransportKind) { return kTransportKindNames; }

enum class DeviceKind { kCpu, kCuda };
inline constexpr auto kDeviceKindNames =
    std::to_array<std::string_view>({"cpu", "cuda"});
constexpr Names names_of(DeviceKind) { return kDeviceKindNames; }

}  // namespace chimera
