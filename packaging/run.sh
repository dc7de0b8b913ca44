#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds Shardscope on a bare Debian 12 and opens PATH, or the sample checkpoint, in the window. Without a display it
# inspects PATH, or inspects, reshards and verifies the sample, and writes a picture of the window.
#   packaging/run.sh [--with-torch] [PATH...]
# --with-torch also installs LibTorch (540 MB), which makes statistics and casts faster.
set -eu
. "$(dirname "$0")/build.sh"

with_torch=""
if [ "${1:-}" = --with-torch ]; then
    with_torch=--with-torch
    shift
fi
"$root/packaging/setup.sh" $with_torch
configure_release
build build/release shardscope shardscope-gui
shardscope=$root/build/release/app/cli/shardscope
window=$root/build/release/app/gui/shardscope-gui
sample=$root/tests/data/samples/zero3-w4

if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
    [ $# -gt 0 ] || set -- "$sample"
    exec "$window" "$@"
fi

results=$root/build/run
mkdir -p "$results"
echo "== no display: working with the command line, a picture of the window follows"
if [ $# -eq 0 ]; then
    set -- "$sample"
    "$shardscope" inspect "$sample"
    echo "== reshard $sample from 4 to 2 ranks"
    "$shardscope" reshard "$sample" "$results/zero3-w2" --world-size 2 --force
    "$shardscope" verify "$results/zero3-w2"
else
    for path in "$@"; do
        "$shardscope" inspect "$path"
    done
fi
QT_QPA_PLATFORM=offscreen "$window" --screenshot "$results/window.png" "$1"
echo "Picture of the window: $results/window.png"
