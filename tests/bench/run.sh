#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds what is measured, optimised, and measures it: run.sh [BUILD_FOLDER [WORK_FOLDER [OPTION...]]]
# Defaults: build/bench and the build folder itself. Options: shardscope_bench --help; --quick to see it work.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build/bench}
[ $# -eq 0 ] || shift
work=${1:-$build}
[ $# -eq 0 ] || shift
if [ ! -f "$build/CMakeCache.txt" ]; then
    cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DSHARDSCOPE_BUILD_GUI=OFF >&2
fi
cmake --build "$build" --target shardscope shardscope_generate shardscope_bench >&2
exec "$build/tests/bench/shardscope_bench" "$work" "$@"
