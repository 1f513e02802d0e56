// Parses run.toml and --set into a RunConfig, or returns every mistake at once.
//
// Error codes of this module (docs/errors.md tells what to do about each):
//   E001 not valid TOML                    E020 a required key is missing
//   E002 too large, or nested too deeply   E021 hidden not a multiple of heads
//   E003 an override without section.key=  E022 seq above positions
//   E004 unknown section                   E023 halving of an odd micro-batch
//   E005 unknown key                       E024 min_lr above lr
//   E006 a key outside of every section    E025 warmup above steps
//   E007 wrong type                        E026 a key of another kind of model
//   E008 number out of range               E027 a preset of another kind
//   E009 not one of the names              E028 both preset and init
//   E010 wrong number of list elements     E029 momentum without sgd
//   E011 a null character in a text        E030 lists of different lengths
//   E012 a file to read does not exist     E031 cut not ascending from 0
//   E034 weights that are not as many      E032 eval_fraction and eval_path
//        as paths                          E033 packing of pairs
//   E036 kv_heads does not divide heads    E037 an odd head_dim
//   E038 links within a node without node_ranks
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chimera/base/result.h"
#include "chimera/config/run_config.h"

namespace chimera {

// Parses a run.toml. `text` is untrusted; `file_name` names it in errors.
// `overrides` are the "section.key=value" of --set; the last one wins, and all
// win over the file.
//
// A relative path in the file starts at the file's folder, so that it can be
// opened from the working directory; one in an override stays as it is.
//
// The model is resolved: a preset fills what was not given, then positions =
// seq, ffn = 4*hidden, tie_embeddings = true, and for a Llama kv_heads = heads,
// head_dim = hidden/heads, rope_theta = 10000 and norm_eps = 1e-5. With
// model.init, what was not given stays open, to be set by the Hugging Face
// directory.
//
// A text without any [schedule] key is a model without a run, which is what
// `plan` reads. A [schedule] must give micro_batch, and also depth and micros
// unless schedule.file has them.
[[nodiscard]] Result<RunConfig> parse_run_config(
    std::string_view text, const std::string& file_name,
    const std::vector<std::string>& overrides);

// The same, together with check_for_training(): one list of all mistakes. If
// there is any, the list also has the missing files that the run would read
// (E012). Without other mistakes they are reported when they are opened.
[[nodiscard]] Result<RunConfig> parse_training_config(
    std::string_view text, const std::string& file_name,
    const std::vector<std::string>& overrides);

// Reports what training needs and `config` lacks (E020): a schedule,
// train.steps and, unless the model is emulated, train.lr and data.path. Empty
// = ready.
[[nodiscard]] Diagnostics check_for_training(const RunConfig& config,
                                             const std::string& file_name = "");

}  // namespace chimera
