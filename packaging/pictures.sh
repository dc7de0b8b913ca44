#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the pictures of README and manual, resources/images, from sample checkpoints. Needs a release build and no
# display.
#   packaging/pictures.sh
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
window=$root/build/release/app/gui/shardscope-gui
samples=$root/tests/data/samples
folder=/tmp/shardscope-pictures # the pictures show it
mkdir "$folder"
trap 'rm -rf "$folder"' EXIT INT TERM
export QT_QPA_PLATFORM=offscreen SHARDSCOPE_SETTINGS="$folder/settings"
mkdir -p "$folder/runs"
cp -r "$samples/zero2-w2" "$folder/runs/llama"
cp -r "$samples/zero3-w4" "$folder/runs/llama-z3"
cp -r "$samples/zero2-w2" "$folder/runs/lost"
rm "$folder"/runs/lost/global_step*/*_rank_1_mp_rank_00_optim_states.pt
"$root/build/release/app/cli/shardscope" reshard "$folder/runs/llama" "$folder/runs/llama-3" --world-size 3 >"$folder/log"

# picture NAME PAGE SIZE RUN [OPTION...]
picture() {
    name=$1 page=$2 size=$3 run=$4
    shift 4
    "$window" --screenshot "$root/resources/images/$name.png" --page "$page" --size "$size" "$@" "$folder/runs/$run"
}
picture window map 1200x720 llama-z3
picture tensor tensor 1200x720 llama-z3 --select layers.0.attention.wq.weight
picture findings findings 1200x720 lost
picture repair repair 1200x720 lost
picture reshard reshard 1180x900 llama-z3
picture compare compare 1200x720 llama --against "$folder/runs/llama-3"
