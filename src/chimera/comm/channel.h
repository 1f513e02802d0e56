// The uses of a transport, each with ids of its own.
#pragma once

#include <cstdint>

namespace chimera {

// Messages, collectives and votes of different channels never match, so every
// user of a transport counts its steps and indices from 0.
enum class Channel : std::uint8_t {
  kTraining,
  kEvaluation,
  kClockAtStart,  // clock offsets, for traces
  kClockAtEnd,
  kEvents,    // traces, to rank 0
  kPeaks,     // memory peaks, to rank 0
  kWeights,   // trained weights, to rank 0
  kReplicas,  // hashes of weights, to rank 0
  kReplan,    // a new order, from rank 0
  kSave,      // progress of a checkpoint
  kExit,      // the exit code, from rank 0
  kMeeting,   // barriers and numbers of measurements
  kLinkBench,
};

}  // namespace chimera
