#!/usr/bin/env bash
# Writes seeds for the fuzzers of Hugging Face files: small valid files.
#   hf_corpus.sh FOLDER      makes FOLDER/safetensors and FOLDER/json
set -euo pipefail
mkdir -p "$1/safetensors" "$1/json"

# safetensors NAME HEADER DATA_BYTES
safetensors() {
  local length=${#2} shift
  {
    for shift in 0 8 16 24 32 40 48 56; do
      # shellcheck disable=SC2059
      printf "\\x$(printf %02x $((length >> shift & 255)))"
    done
    printf %s "$2"
    head -c "$3" /dev/zero
  } >"$folder/$1"
}

folder="$1/safetensors"
safetensors empty '{}' 0
safetensors scalar '{"s":{"dtype":"F64","shape":[],"data_offsets":[0,8]}} ' 8
safetensors two '{"__metadata__":{"format":"pt"},"a.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"a.bias":{"dtype":"BF16","shape":[2],"data_offsets":[24,28]}}' 28
safetensors odd '{"b":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]},"h":{"dtype":"F16","shape":[1],"data_offsets":[1,3]},"none":{"dtype":"I64","shape":[0,9],"data_offsets":[3,3]}}' 3

folder="$1/json"
cat >"$folder/gpt2" <<'EOT'
{"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_layer": 2, "n_embd": 16, "n_head": 2, "vocab_size": 50, "n_positions": 12, "n_inner": null, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-05, "embd_pdrop": 0.1, "attn_pdrop": 0.1, "resid_pdrop": 0.1, "scale_attn_weights": true, "scale_attn_by_inverse_layer_idx": false, "reorder_and_upcast_attn": false, "tie_word_embeddings": false}
EOT
cat >"$folder/bert" <<'EOT'
{"architectures": ["BertForPreTraining"], "model_type": "bert", "num_hidden_layers": 2, "hidden_size": 16, "num_attention_heads": 2, "vocab_size": 50, "max_position_embeddings": 12, "type_vocab_size": 2, "intermediate_size": 32, "hidden_act": "gelu", "layer_norm_eps": 1e-12, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "position_embedding_type": "absolute", "is_decoder": false, "task_specific_params": {"a": [1, null, NaN]}}
EOT
cat >"$folder/index" <<'EOT'
{"metadata": {"total_size": 24656}, "weight_map": {"bert.pooler.dense.bias": "model-00001-of-00002.safetensors", "cls.predictions.bias": "model-00002-of-00002.safetensors"}}
EOT
