#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tarball for another processor, under emulation, makes the answers and bytes of a native program:
#   tests/packaging/try_foreign.sh build/dist aarch64 PROGRAM
set -eu
dist=$(cd "$1" && pwd)
machine=$2
native=$(realpath "$3")
samples=$(cd "$(dirname "$0")/../data/samples" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar xzf "$dist"/shardscope-*-linux-"$machine".tar.gz -C "$work"
foreign() { "qemu-$machine-static" "$work"/shardscope-*/bin/shardscope "$@"; }
foreign --version
count=0
for sample in "$samples"/*/; do
    for verb in inspect params layout; do
        foreign $verb "$sample" --json >"$work/foreign.json" || true
        "$native" $verb "$sample" --json >"$work/native.json" || true
        cmp "$work/foreign.json" "$work/native.json"
        count=$((count + 1))
    done
done
echo "$count answers are equal"
for name in zero2-w2 zero3-w4; do
    foreign reshard "$samples/$name" "$work/foreign-$name" --world-size 3 --quiet
    "$native" reshard "$samples/$name" "$work/native-$name" --world-size 3 --quiet
    diff -r -x shardscope.json "$work/foreign-$name" "$work/native-$name"
    foreign verify "$work/foreign-$name" --against "$samples/$name" >/dev/null
done
foreign fingerprint "$samples/zero3-w4" | head -1 >"$work/foreign"
"$native" fingerprint "$samples/zero3-w4" | head -1 | cmp - "$work/foreign"
echo "written files and fingerprints are equal"
