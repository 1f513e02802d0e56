// Stores one value of run.toml in its RunConfig, with the checks that concern a
// single key (type, range, list of names).
#pragma once

#include <optional>

#include "chimera/base/result.h"
#include "chimera/config/keys.h"
#include "chimera/config/toml_text.h"

namespace chimera {

// Stores `value`, or returns why not (E007 type, E008 range, E009 name, E010
// list length, E011 text; `where` is left empty) and leaves `config` unchanged.
// REQUIRES: the key's member of `config` still has its default.
[[nodiscard]] std::optional<Diagnostic> store(const ConfigKey& key,
                                              const TomlValue& value,
                                              RunConfig& config);

}  // namespace chimera
