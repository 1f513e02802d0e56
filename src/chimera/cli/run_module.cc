#include "chimera/commands/run_module.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "chimera/console/console.h"

namespace chimera {
namespace {

constexpr const char* kLibrary = "libchimera_commands.so";

std::string library_path() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& folder : {here, here.parent_path() / "lib"}) {
    if (fs::exists(folder / kLibrary, error)) return folder / kLibrary;
  }
  return kLibrary;
}

// Threads of libgomp, which libtorch computes with, wait for each other by
// spinning, by default for milliseconds. That takes the cores away from other
// work of the machine, and from their own on a busy one. Set before libgomp is
// loaded, unless the user has decided.
void shorten_spinning() {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "5000", /*overwrite=*/0);
}

}  // namespace

const RunModule* load_run_module() {
  static std::optional<RunModule> module;
  const auto refuse = [](const std::string& why) {
    print_errors({{.code = "E407",
                   .found = kLibrary,
                   .needed = "cannot be loaded: " + why,
                   .hint = "this command needs libtorch; build with ./dev "
                           "build"}});
    return nullptr;
  };
  shorten_spinning();
  void* library = dlopen(library_path().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return refuse(dlerror());
  void* entry = dlsym(library, kRunModuleEntry);
  if (entry == nullptr) return refuse(dlerror());
  module = reinterpret_cast<RunModule (*)()>(entry)();
  return &*module;
}

}  // namespace chimera
