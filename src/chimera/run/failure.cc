#include "chimera/run/failure.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <new>
#include <system_error>

#include "chimera/base/exit_codes.h"
#include "chimera/base/files.h"
#include "chimera/comm/comm_error.h"
#include "chimera/train/replicas.h"

namespace chimera {
namespace {

Failure out_of_memory() {
  return {kExitMemory,
          "out of memory; use a smaller model, micro_batch or width, or "
          "schedule.recompute"};
}

// libtorch's failures: the first line says what, the rest is a stack.
Failure torch_failure(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  // What its allocator says has no type of its own.
  if (text.find("alloc_cpu") != std::string::npos ||
      text.find("not enough memory") != std::string::npos) {
    return out_of_memory();
  }
  return {kExitInternal, "libtorch: " + text.substr(0, text.find('\n'))};
}

}  // namespace

Failure current_failure() {
  try {
    throw;
  } catch (const TimeoutError& error) {
    return {kExitTimeout, error.what()};
  } catch (const CommError& error) {
    return {kExitPeer, error.what()};
  } catch (const IoError& error) {
    return {kExitDisk, error.what()};
  } catch (const ReplicaError& error) {
    return {kExitNumeric, error.what()};
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::system_error& error) {
    return {kExitMemory, std::string("a worker thread cannot be started: ") +
                             error.what() + "; use a smaller depth or width"};
  } catch (const c10::Error& error) {
    return torch_failure(error);
  } catch (const std::exception& error) {
    return {kExitInternal,
            std::string("internal error, a bug in chimera: ") + error.what()};
  }
}

ExitCode exit_code_of(const Diagnostics& errors) {
  const auto all = [&](const auto& is_kind) {
    return std::all_of(errors.begin(), errors.end(), is_kind);
  };
  // E501 to E549 are about data files and Hugging Face directories.
  if (all([](const Diagnostic& error) {
        return error.code >= "E501" && error.code < "E550";
      })) {
    return kExitData;
  }
  if (all([](const Diagnostic& error) {
        return error.code.starts_with("E58");
      })) {
    return kExitCheckpoint;
  }
  return kExitUsage;
}

}  // namespace chimera
