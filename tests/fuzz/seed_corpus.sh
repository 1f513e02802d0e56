#!/usr/bin/env bash
# Writes seeds for the schedule fuzzer: small schedules in every form.
#   seed_corpus.sh CHIMERA_BINARY FOLDER
set -euo pipefail
chimera="$1"
folder="$2"
mkdir -p "$folder"
for scheme in gpipe 1f1b interleaved gems pipedream pipedream-2bw chimera \
  zb-h1 zb-h2 zb-v dualpipe dualpipe-v hanayo; do
  for form in json sched csv; do
    "$chimera" schedule "$scheme" --depth 2 --micros 4 --format "$form" \
      -o "$folder/$scheme.$form"
    "$chimera" schedule "$scheme" --depth 2 --micros 4 --lowered --recompute \
      --format "$form" -o "$folder/$scheme.lowered.$form"
  done
done
