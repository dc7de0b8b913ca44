#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and tests everything on a bare Debian 12.
#   packaging/test.sh                  all tests; those of what reads and writes files, and of hostile input to the commands,
#                                      under AddressSanitizer too, threads under ThreadSanitizer
#   packaging/test.sh --interop        also jobs under Slurm, and a part of the matrix against stock DeepSpeed
#   packaging/test.sh --interop full   also all of that matrix
#   packaging/test.sh --full           also everything under AddressSanitizer, and every other build variant
set -eu
. "$(dirname "$0")/build.sh"

interop=""
full=""
while [ $# -gt 0 ]; do
    case $1 in
    --interop)
        interop=ci
        if [ "${2:-}" = full ]; then
            interop=full
            shift
        fi
        ;;
    --full) full=yes ;;
    *)
        echo "usage: packaging/test.sh [--interop [full]] [--full]" >&2
        exit 2
        ;;
    esac
    shift
done

jobs=$(nproc)
export QT_QPA_PLATFORM=offscreen
# A test whose tool is absent fails, in place of being left out.
export SHARDSCOPE_EVERY_TEST=${interop:-except-slurm}

# test_all FOLDER [ctest argument...]
test_all() {
    folder=$1
    shift
    echo "== test $folder"
    ctest --test-dir "$root/$folder" --output-on-failure -j "$jobs" --no-tests=error "$@"
}

# build_before MINUTES WHAT FOLDER TARGET...: builds, where a run has a limit (CI in the environment) of 90 minutes only until
# so many have passed. From an empty compiler cache, on a slow machine, a sanitizer takes up to 70; what is compiled by then
# stays in the cache for the next run. False, and named here and in the last line, where that is not all.
began=$(date +%s)
build_before() {
    minutes=$1
    what=$2
    shift 2
    if [ -z "${CI:-}" ]; then
        build "$@" || exit
        return 0
    fi
    use_compiler_cache
    left=$((minutes * 60 + began - $(date +%s)))
    folder=$1
    shift
    echo "== build $folder"
    status=124
    [ "$left" -le 0 ] || { timeout "$left" cmake --build "$root/$folder" --target "$@" && return 0 || status=$?; }
    [ "$status" -eq 124 ] || exit "$status"
    echo "== LEFT OUT: $what, which was not built after $minutes minutes; run packaging/test.sh again, with a warm compiler cache"
    left_out="$left_out${left_out:+,} $what"
    return 1
}

"$root/packaging/setup.sh" --with-torch --with-mpi ${interop:+--with-slurm} --with-tools ${interop:+--interop "$interop"}

configure_release
build build/release
test_all build/release

if [ -n "$interop" ]; then
    echo "== interop with stock DeepSpeed ($interop)"
    set -- --shardscope "$root/build/release/app/cli/shardscope" --subset "$interop"
    [ "$interop" = ci ] || set -- "$@" --curves "$root/build/loss-curves.png"
    python3 "$root/tests/interop/run.py" "$@"
fi

# Without optimisation: with it, compiling takes three times as long, more than a continuous integration from nothing has.
left_out=""
if [ -n "$full" ]; then
    configure dev-asan build/dev-asan -DSHARDSCOPE_BUILD_GUI=ON
    build build/dev-asan
    test_all build/dev-asan
else
    configure dev-asan build/dev-asan -DSHARDSCOPE_BUILD_GUI=OFF
    # Two of them take up to half an hour each, which a limited run does not have.
    slow='core\.engine|hostile\.rest'
    tests='core\.(base|checkpoint|io|torchfile)$|hostile\.(faults|files|torn)'
    if [ -z "${CI:-}" ]; then
        tests="$tests|$slow"
    else
        left_out=" AddressSanitizer of core.engine and hostile.rest"
    fi
    build_before 40 AddressSanitizer build/dev-asan tests_of_files &&
        test_all build/dev-asan -R "^($tests)"
fi

# What works on several threads, under ThreadSanitizer; a planted race proves that it looks.
configure dev-tsan build/dev-tsan -DSHARDSCOPE_BUILD_GUI=OFF
build_before 45 ThreadSanitizer build/dev-tsan test_core_base test_core_io test_core_engine planted_race &&
    test_all build/dev-tsan -R '^(core\.(base|io|engine)|sanitizer\..*)$'

if [ -n "$full" ]; then
    configure minimal build/minimal
    build build/minimal
    test_all build/minimal
    configure dev build/dev -DSHARDSCOPE_BUILD_BENCHMARKS=ON
    build build/dev
    test_all build/dev
    # Debian's LibTorch, an old one for the CPU alone.
    as_root=""
    [ "$(id -u)" -eq 0 ] || as_root="sudo"
    $as_root apt-get -o DPkg::Lock::Timeout=600 install -y -q --no-install-recommends libtorch-dev
    libtorch=""
    configure dev build/debian-torch -DSHARDSCOPE_BUILD_GUI=OFF
    build build/debian-torch test_compute
    test_all build/debian-torch -R '^compute$'
    libtorch=$libtorch_folder/torch
    build build/dev-tsan
    test_all build/dev-tsan
    configure release build/release-lto
    build build/release-lto
    test_all build/release-lto
fi

echo "All tests passed${left_out:+, but those that were left out:$left_out}."
