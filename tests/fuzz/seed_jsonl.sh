#!/usr/bin/env bash
# Writes seeds for the JSONL fuzzer: texts, prepared samples of seq = 8, and
# small mistakes in both.
#   seed_jsonl.sh FOLDER
set -euo pipefail
folder="$1"
mkdir -p "$folder"
seed() { cat >"$folder/$1"; }

seed text <<'EOT'
{"text": "one"}

{"id": 7, "text": "tw\u00f6 \ud83d\ude00\n", "meta": {"a": [1, null, "]"]}}
EOT
seed broken_text <<'EOT'
{"text": "half a pair \ud83d"}
{"text": 7}
{"txt": "x"}
{"text": "no end
[1, 2]
EOT
seed prepared <<'EOT'
{"input_ids": [1, 9, 3, 2, 7, 3, 8, 2], "token_type_ids": [0, 0, 0, 0, 1, 1, 1, 1], "labels": [-100, -100, 5, -100, -100, 6, -100, -100], "next_sentence_label": 1, "attention_mask": [1, 1, 1, 1, 1, 1, 1, 1]}
{"input_ids": [1, 2, 3, 4, 5, 6, 7, 127], "token_type_ids": [0, 0, 0, 0, 0, 0, 0, 0], "labels": [0, 0, 0, 0, 0, 0, 0, 0], "next_sentence_label": 0}
EOT
seed broken_prepared <<'EOT'
{"input_ids": [1, 2], "token_type_ids": [2, -1], "labels": [-99, 99999999999], "next_sentence_label": null}
{"input_ids": [[1]], "labels": {}, "labels": [1.5], "attention_mask": [0]}
EOT
