#include "chimera/commands/run_module.h"

#include <dlfcn.h>

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
  void* library = dlopen(library_path().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return refuse(dlerror());
  void* entry = dlsym(library, kRunModuleEntry);
  if (entry == nullptr) return refuse(dlerror());
  module = reinterpret_cast<RunModule (*)()>(entry)();
  return &*module;
}

}  // namespace chimera
