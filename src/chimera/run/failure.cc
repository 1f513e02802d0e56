#include "chimera/run/failure.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <new>
#include <system_error>

#include "chimera/base/files.h"
#include "chimera/comm/comm_error.h"
#include "chimera/train/replicas.h"

namespace chimera {
namespace {

Failure out_of_memory() {
  return {FailureKind::kMemory,
          "out of memory; use a smaller model, micro_batch or width, or "
          "schedule.recompute"};
}

// libtorch's message has the reason in its first line and a stack below.
Failure torch_failure(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  // Failed allocations have no exception type of their own.
  if (text.find("alloc_cpu") != std::string::npos ||
      text.find("not enough memory") != std::string::npos) {
    return out_of_memory();
  }
  return {FailureKind::kInternal,
          "libtorch: " + text.substr(0, text.find('\n'))};
}

}  // namespace

Failure current_failure() {
  try {
    throw;
  } catch (const TimeoutError& error) {
    return {FailureKind::kTimeout, error.what()};
  } catch (const CommError& error) {
    return {FailureKind::kPeerLost, error.what()};
  } catch (const IoError& error) {
    return {FailureKind::kDisk, error.what()};
  } catch (const ReplicaError& error) {
    return {FailureKind::kNumeric, error.what()};
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::system_error& error) {
    return {FailureKind::kMemory,
            std::string("a worker thread cannot be started: ") + error.what() +
                "; use a smaller depth or width"};
  } catch (const c10::Error& error) {
    return torch_failure(error);
  } catch (const std::exception& error) {
    return {FailureKind::kInternal,
            std::string("internal error, a bug in chimera: ") + error.what()};
  }
}

ExitCode exit_code_of(FailureKind kind) {
  switch (kind) {
    case FailureKind::kUsage:
      return kExitUsage;
    case FailureKind::kPeerLost:
      return kExitPeer;
    case FailureKind::kTimeout:
      return kExitTimeout;
    case FailureKind::kNumeric:
      return kExitNumeric;
    case FailureKind::kDisk:
      return kExitDisk;
    case FailureKind::kMemory:
      return kExitMemory;
    case FailureKind::kInternal:
      break;
  }
  return kExitInternal;
}

ExitCode exit_code_of(const Diagnostics& errors) {
  const auto are_all = [&](DiagnosticKind kind) {
    return std::all_of(
        errors.begin(), errors.end(),
        [&](const Diagnostic& error) { return error.kind == kind; });
  };
  if (are_all(DiagnosticKind::kData)) return kExitData;
  if (are_all(DiagnosticKind::kCheckpoint)) return kExitCheckpoint;
  return kExitUsage;
}

}  // namespace chimera
