# SPDX-License-Identifier: Apache-2.0
# Read by run.sh and test.sh: how a preset is configured and built. Works from any folder.
root=$(cd "$(dirname "$0")/.." && pwd)

if command -v ccache >/dev/null; then
    export SHARDSCOPE_COMPILER_LAUNCHER="${SHARDSCOPE_COMPILER_LAUNCHER-ccache}"
fi

# LibTorch as packaging/setup.sh installs it. SHARDSCOPE_LIBTORCH names another one's folder `torch`, or is empty for the
# system's, or OFF for none.
libtorch_version=2.11.0
libtorch_folder=${XDG_CACHE_HOME:-$HOME/.cache}/shardscope/libtorch-$libtorch_version
libtorch=${SHARDSCOPE_LIBTORCH-$libtorch_folder/torch}

# configure PRESET FOLDER [CMake argument...]
configure() {
    preset=$1
    folder=$2
    shift 2
    echo "== configure $folder ($preset)"
    mkdir -p "$root/$folder"
    torch_option="-DSHARDSCOPE_LIBTORCH=$libtorch"
    [ "$preset" != minimal ] || torch_option="" # which says so itself
    if ! (cd "$root" && cmake --preset "$preset" -B "$folder" $torch_option "$@") >"$root/$folder/configure.log" 2>&1; then
        cat "$root/$folder/configure.log"
        return 1
    fi
}

# build FOLDER [target...]
build() {
    folder=$1
    shift
    echo "== build $folder"
    cmake --build "$root/$folder" ${1:+--target "$@"}
}

# What users run, without link-time optimisation: linking a dozen programs would take longer than all compiling.
configure_release() {
    configure release build/release -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=OFF -DSHARDSCOPE_BUILD_GUI=ON "$@"
}
