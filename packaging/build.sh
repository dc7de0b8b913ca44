# SPDX-License-Identifier: Apache-2.0
# Read by run.sh and test.sh: how a preset is configured and built. Works from any folder.
root=$(cd "$(dirname "$0")/.." && pwd)

# LibTorch as packaging/setup.sh installs it. SHARDSCOPE_LIBTORCH names another one's folder `torch`, or is empty for the
# system's, or OFF for none.
libtorch_version=2.11.0
libtorch_folder=${XDG_CACHE_HOME:-$HOME/.cache}/shardscope/libtorch-$libtorch_version
libtorch=${SHARDSCOPE_LIBTORCH-$libtorch_folder/torch}

# A compiler cache that serves checkouts in any folder: paths below the root are relative to it, and precompiled headers
# are known by their content. It is looked for when something is configured, after setup.sh has installed it.
use_compiler_cache() {
    command -v ccache >/dev/null || return 0
    export SHARDSCOPE_COMPILER_LAUNCHER="${SHARDSCOPE_COMPILER_LAUNCHER-ccache}"
    export CCACHE_BASEDIR="${CCACHE_BASEDIR-$root}"
    export CCACHE_NOHASHDIR=1
    export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS-pch_defines,time_macros}"
}

# configure PRESET FOLDER [CMake argument...]
configure() {
    use_compiler_cache
    preset=$1
    folder=$2
    shift 2
    echo "== configure $folder ($preset)"
    mkdir -p "$root/$folder"
    torch_option="-DSHARDSCOPE_LIBTORCH=$libtorch"
    # The default one is used where setup.sh has installed it.
    [ "$libtorch" != "$libtorch_folder/torch" ] || [ -d "$libtorch" ] || torch_option=-DSHARDSCOPE_LIBTORCH=OFF
    [ "$preset" != minimal ] || torch_option="" # which says so itself
    if ! (cd "$root" && cmake --preset "$preset" -B "$folder" $torch_option "$@") >"$root/$folder/configure.log" 2>&1; then
        cat "$root/$folder/configure.log"
        return 1
    fi
}

# build FOLDER [target...]
build() {
    use_compiler_cache
    folder=$1
    shift
    echo "== build $folder"
    cmake --build "$root/$folder" ${1:+--target "$@"}
}

# What users run, without link-time optimisation: linking a dozen programs would take longer than all compiling.
configure_release() {
    configure release build/release -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=OFF -DSHARDSCOPE_BUILD_GUI=ON "$@"
}
