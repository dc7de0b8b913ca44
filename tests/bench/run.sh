#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds what is measured, optimised, and measures it: run.sh [BUILD_FOLDER [WORK_FOLDER [OPTION...]]]
# Without options the map, the parameter table and the window's events follow, where the build folder has the window.
# Defaults: build/bench and the build folder itself. Options: shardscope_bench --help; --quick to see it work.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build/bench}
[ $# -eq 0 ] || shift
work=${1:-$build}
[ $# -eq 0 ] || shift
if [ ! -f "$build/CMakeCache.txt" ]; then
    cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DSHARDSCOPE_BUILD_BENCHMARKS=ON >&2
fi
cmake --build "$build" --target shardscope shardscope_generate shardscope_bench >&2
"$build/tests/bench/shardscope_bench" "$work" "$@"
if [ $# -eq 0 ] && grep -q '^SHARDSCOPE_BUILD_GUI:BOOL=ON' "$build/CMakeCache.txt"; then
    cmake --build "$build" --target bench_map bench_table bench_window >&2
    export QT_QPA_PLATFORM=offscreen
    "$build/tests/bench/bench_map"
    "$build/tests/bench/bench_table"
    many=$(mktemp -d "$work/shardscope-window-XXXXXX")
    trap 'rm -rf "$many"' EXIT
    "$build/tests/bench/shardscope_generate" --stage 2 --world 999 --params 300000 --bytes 1 --sparse "$many/run"
    "$build/tests/bench/bench_window" "$many/run"
fi
