#!/usr/bin/env bash
# Writes seeds for the tokenizer fuzzer: small valid files of each kind.
#   seed_tokenizer.sh FOLDER
set -euo pipefail
folder="$1"
mkdir -p "$folder"
seed() { cat >"$folder/$1"; }

seed gpt2.json <<'EOT'
{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [{"id": 5, "content": "<|endoftext|>", "single_word": false, "lstrip": false, "rstrip": true, "normalized": false, "special": true}], "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}, "post_processor": null, "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": {"a": 0, "t": 1, "Ġ": 2, "at": 3, "Ġat": 4}, "merges": [["a", "t"], ["Ġ", "at"]]}}
EOT
seed qwen.json <<'EOT'
{"added_tokens": [], "normalizer": {"type": "NFC"}, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}, "behavior": "Isolated", "invert": false}, {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]}, "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "unk_token": "a", "fuse_unk": true, "ignore_merges": true, "vocab": {"a": 0, "t": 1, "at": 2}, "merges": ["a t"]}}
EOT
seed bert.json <<'EOT'
{"added_tokens": [{"id": 1, "content": "[SEP]", "normalized": true}], "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true}, "pre_tokenizer": {"type": "BertPreTokenizer"}, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true}, "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "[SEP]": 1, "a": 2, "##t": 3}}}
EOT
seed vocab.json <<'EOT'
{"a": 0, "t": 1, "at": 2, "<|endoftext|>": 3}
EOT
seed config.json <<'EOT'
{"add_prefix_space": false, "added_tokens_decoder": {"3": {"content": "<|endoftext|>", "special": true}}, "do_lower_case": true, "eos_token": {"content": "</s>"}, "tokenizer_class": "GPT2Tokenizer"}
EOT
printf '#version: 0.2\na t\n\xc4\xa0 at\nh e\nhe at\n' >"$folder/merges.txt"
printf '[UNK]\n[SEP]\na\n##t\nplay\n##ing\n\xc3\xa9\n' >"$folder/vocab.txt"
