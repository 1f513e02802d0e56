#!/usr/bin/env bash
# Writes a job script for each run of the paper, as README.md lists them.
#   make_jobs.sh CHIMERA FOLDER
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: $0 CHIMERA FOLDER" >&2; exit 2; }
chimera=$1
folder=$2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$folder"

# job NAME MODEL NODES [KEY=VALUE of schedule]...
job() {
  local name=$1 model=$2 nodes=$3 overrides=() each
  for each in "${@:4}"; do overrides+=(--set "schedule.$each"); done
  "$chimera" init slurm -c "$here/$model.toml" --nodes "$nodes" \
    --time 01:00:00 "${overrides[@]}" -o "$folder/$name.sh"
}

# Bert-48 on 32 nodes, 512 samples a step: figures 13 and 14.
w8d4=(width=8 depth=4)
job bert48_chimera_4w8d bert48 32
job bert48_chimera_8w4d bert48 32 "${w8d4[@]}" micros=8 micro_batch=8
job bert48_gpipe_8w4d bert48 32 scheme=gpipe "${w8d4[@]}" micros=16 micro_batch=4 recompute=true
job bert48_dapple_8w4d bert48 32 scheme=1f1b "${w8d4[@]}" micros=16 micro_batch=4
job bert48_gems_8w4d bert48 32 scheme=gems "${w8d4[@]}" micros=2 micro_batch=32
job bert48_2bw_8w4d bert48 32 scheme=pipedream-2bw "${w8d4[@]}" micros=4 recompute=true
job bert48_2bw_4w8d bert48 32 scheme=pipedream-2bw recompute=true
job bert48_pipedream_4w8d bert48 32 scheme=pipedream micros=1 micro_batch=8

# Bert-48 with many micro-batches: figure 17.
job bert48_direct_8w4d bert48 32 "${w8d4[@]}" micros=16 micro_batch=8
job bert48_doubling_8w4d bert48 32 "${w8d4[@]}" scale=doubling micros=64 micro_batch=8 recompute=true

# GPT-2 on 512 nodes, 512 samples a step: figures 11, 13 and 15.
w64d8=(width=64 depth=8)
job gpt2_chimera_16w32d gpt2 512
job gpt2_2bw_32w16d gpt2 512 scheme=pipedream-2bw width=32 depth=16 micros=16 recompute=true
job gpt2_gems_64w8d gpt2 512 scheme=gems "${w64d8[@]}" micros=2 micro_batch=4
job gpt2_pipedream_64w8d gpt2 512 scheme=pipedream "${w64d8[@]}" micros=1 micro_batch=2 recompute=true

# The same on 2,048 nodes, 2,048 samples a step: figures 1 and 15.
job gpt2_chimera_64w32d gpt2 2048 width=64
job gpt2_dapple_128w16d gpt2 2048 scheme=1f1b width=128 depth=16 micros=16 recompute=true
job gpt2_gpipe_256w8d gpt2 2048 scheme=gpipe width=256 depth=8 micros=8 recompute=true

# GPT-2 with many micro-batches on 512 nodes: figure 18.
job gpt2_direct_64w8d gpt2 512 "${w64d8[@]}" micros=24 recompute=true
job gpt2_doubling_64w8d gpt2 512 "${w64d8[@]}" scale=doubling micros=16 recompute=true
job gpt2_gems_64w8d_large gpt2 512 scheme=gems "${w64d8[@]}" micros=12 micro_batch=2

# More than two pipelines, GPT-2 of 32 layers: figure 19.
for pipes in 4 8 16; do
  job "gpt2_32_${pipes}pipes_1w32d" gpt2_32 32 "pipes=$pipes"
done
