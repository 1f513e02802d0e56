#!/usr/bin/env bash
# One node, one process, a GPU for each worker (docs/gpu.md). Never run on a GPU.
#   sbatch --gpus-per-node=8 gpu_job.sh run.toml
#SBATCH --job-name=chimera-gpu
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=16
#SBATCH --time=01:00:00
#SBATCH --signal=B:USR1@120
set -euo pipefail
config=${1:?usage: sbatch gpu_job.sh run.toml}
# Asked two minutes before the limit to save and end, the run ends with 75.
trap 'kill -USR1 "$run"' USR1
chimera train -c "$config" --set run.device=cuda --set run.transport=threads &
run=$!
while kill -0 "$run" 2>/dev/null; do wait "$run" && code=0 || code=$?; done
exit "$code"
