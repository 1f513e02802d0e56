#include "chimera/run/build_id.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdint>
#include <cstring>

namespace chimera {
namespace {

constexpr std::size_t aligned(std::size_t size) { return (size + 3) / 4 * 4; }

// Finds NT_GNU_BUILD_ID in a segment of ELF notes.
std::string id_in(const char* notes, std::size_t size) {
  std::size_t at = 0;
  while (at + sizeof(ElfW(Nhdr)) <= size) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const char* name = notes + at + sizeof note;
    const char* content = name + aligned(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(name, "GNU", 4) == 0) {
      std::string text;
      for (std::size_t i = 0; i < note.n_descsz; ++i) {
        text += fmt::format("{:02x}", static_cast<unsigned char>(content[i]));
      }
      return text;
    }
    at += sizeof note + aligned(note.n_namesz) + aligned(note.n_descsz);
  }
  return "";
}

struct Search {
  std::uintptr_t address = 0;  // any address in the library
  std::string id;
};

int look_into(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  auto& search = *static_cast<Search*>(data);
  bool is_ours = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    is_ours =
        is_ours || (segment.p_type == PT_LOAD && search.address >= begin &&
                    search.address < begin + segment.p_memsz);
  }
  if (!is_ours) return 0;
  for (int i = 0; i < info->dlpi_phnum && search.id.empty(); ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    search.id = id_in(reinterpret_cast<const char*>(begin),  // NOLINT
                      segment.p_memsz);
  }
  return 1;
}

}  // namespace

std::string build_id() {
  Search search{.address = reinterpret_cast<std::uintptr_t>(&look_into)};
  dl_iterate_phdr(look_into, &search);
  return search.id.empty() ? "unknown" : search.id;
}

}  // namespace chimera
