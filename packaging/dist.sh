#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds what users install, into build/dist. The same commit gives the same bytes in any folder.
#   packaging/dist.sh static       the command line without shared libraries, as a tarball
#   packaging/dist.sh wheel        the wheel `shardscope`: this program and the Python package
#   packaging/dist.sh gui-wheel    the wheel `shardscope-gui`: the window, on the Qt of PySide6-Essentials
#   packaging/dist.sh deb          the Debian packages `shardscope`, `shardscope-gui`, `shardscope-openmpi`, `shardscope-mpich`
#   packaging/dist.sh all          everything; the default
#   packaging/dist.sh static|wheel --machine aarch64     for another processor, by Debian's cross compiler
set -eu
. "$(dirname "$0")/build.sh"

what=${1:-all}
machine=$(uname -m)
case "$what ${2:-} ${3:-}" in
"static  " | "wheel  " | "gui-wheel  " | "deb  " | "all  ") ;;
"static --machine aarch64" | "wheel --machine aarch64") machine=aarch64 ;;
*)
    echo "usage: packaging/dist.sh [static|wheel|gui-wheel|deb|all], or static|wheel --machine aarch64" >&2
    exit 2
    ;;
esac
wanted() { [ "$what" = all ] || [ "$what" = "$1" ]; }

with_mpi=""
! wanted deb || with_mpi=--with-mpi
"$root/packaging/setup.sh" $with_mpi
libtorch=OFF # needs the user's own LibTorch
out=$root/build/dist
tools=$root/packaging/dist
mkdir -p "$out"
# The time of the commit stands for all times.
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 315532800)
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
# Qt's resources record times, and are not compiled again at each commit.
export QT_RCC_SOURCE_DATE_OVERRIDE=315532800
umask 022

# configure_dist FOLDER [CMake argument...]: as `release`. Link-time optimisation and build identifiers differ by folder.
configure_dist() {
    folder=$1
    shift
    configure release "$folder" -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=OFF -DSHARDSCOPE_BUILD_TESTS=OFF -DSHARDSCOPE_CUDA=OFF \
        -DCMAKE_EXE_LINKER_FLAGS=-Wl,--build-id=none -DCMAKE_MODULE_LINKER_FLAGS=-Wl,--build-id=none "$@"
}

version_of() {
    sed -n 's/^project(shardscope VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt"
}

# A cross compiler, the archives of the other machine from its Debian packages, and an emulator that tries the program.
prepare_cross() {
    triple=$machine-linux-gnu
    as_root=""
    [ "$(id -u)" -eq 0 ] || as_root="sudo"
    command -v "$triple-g++" >/dev/null && command -v "qemu-$machine-static" >/dev/null ||
        $as_root apt-get -o DPkg::Lock::Timeout=600 install -y -q --no-install-recommends "g++-$triple" qemu-user-static
    sysroot=$root/build/sysroot-$machine
    [ ! -d "$sysroot/usr" ] || return 0
    downloads=$root/build/downloads-$machine
    mkdir -p "$downloads/lists/partial" "$downloads/cache/archives/partial" "$sysroot"
    (
        cd "$downloads"
        set -- -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root \
            -o Dir::State::Lists="$downloads/lists" -o Dir::Cache="$downloads/cache"
        apt-get "$@" update
        apt-get "$@" download zlib1g-dev libdeflate-dev libssl-dev libxxhash-dev libre2-dev libzstd-dev
        for package in *.deb; do
            dpkg -x "$package" "$sysroot"
        done
    )
}

emulator=""
build_folder=build/dist-portable
set --
if [ "$machine" != "$(uname -m)" ]; then
    prepare_cross
    emulator=qemu-$machine-static
    build_folder=build/dist-$machine
    native=/usr/lib/$(uname -m)-linux-gnu/cmake
    set -- -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$machine" -DCMAKE_CXX_COMPILER="$triple-g++" \
        -DCMAKE_LIBRARY_ARCHITECTURE="$triple" -DCMAKE_FIND_ROOT_PATH="$sysroot" -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY \
        -DCMAKE_CROSSCOMPILING_EMULATOR="$emulator" -DCMAKE_CXX_FLAGS="-isystem $sysroot/usr/include/$triple" -DSHARDSCOPE_MOLD=OFF \
        -Dspdlog_DIR="$native/spdlog" -Dfmt_DIR="$native/fmt"
    export PKG_CONFIG_LIBDIR="$sysroot/usr/lib/$triple/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$sysroot"
fi

# describe_libraries static|gui: licences and versions of what is inside the program.
describe_libraries() {
    python3 "$tools/notices.py" "$1" >"$root/$build_folder/program/THIRD-PARTY-NOTICES"
    python3 "$tools/sbom.py" "$1" "$(version_of)" >"$root/$build_folder/program/sbom.cdx.json"
}
# wheel_of PACKAGE static|gui TREE PLATFORM
wheel_of() {
    describe_libraries "$2"
    python3 "$root/packaging/python/build_wheel.py" "$1" "$3" "$4" "$out" \
        "$root/$build_folder/program/THIRD-PARTY-NOTICES" "$root/$build_folder/program/sbom.cdx.json"
}
# install_tree COMPONENT TREE: as `cmake --install` puts it, the program without its symbols.
install_tree() {
    rm -rf "$2"
    mkdir -p "$root/$build_folder/program"
    cmake --install "$root/$build_folder" --component "$1" --prefix "$2" >/dev/null
    "${triple:+$triple-}strip" "$2"/bin/*
}

# Programs and archives without shared libraries of Debian, so that they run elsewhere.
if wanted static || wanted wheel || wanted gui-wheel; then
    configure_dist $build_folder -DSHARDSCOPE_ARCHIVES=ON -DSHARDSCOPE_BUILD_GUI="$(wanted gui-wheel && echo ON || echo OFF)" "$@"
fi

tree=$root/$build_folder/program/tree
if wanted static || wanted wheel; then
    build $build_folder shardscope-static shardscope_printed
    install_tree cli "$tree"
fi

# What README and manual link to is next to them: documents are at the top of the tarball.
if wanted static; then
    name=shardscope-$(version_of)-linux-$machine
    rm -rf "${out:?}/$name"
    cp -r "$tree" "$out/$name"
    mv "$out/$name/share/doc/shardscope"/* "$out/$name/"
    rm -r "$out/$name/share/doc"
    describe_libraries static
    cp "$root/$build_folder/program/THIRD-PARTY-NOTICES" "$root/$build_folder/program/sbom.cdx.json" "$out/$name/"
    tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
        -C "$out" -cf - "$name" | gzip -9n >"$out/$name.tar.gz"
    rm -rf "${out:?}/$name"
    echo "$out/$name.tar.gz"
fi

if wanted wheel; then
    # A static program runs under every libc.
    tags=manylinux2014_$machine.musllinux_1_1_$machine
    [ "$machine" != x86_64 ] || tags=manylinux1_$machine.$tags # which is older than other machines' tags
    wheel_of shardscope static "$tree" "$tags"
fi

if wanted gui-wheel; then
    build build/dist-portable shardscope-gui
    window=$root/build/dist-portable/program/window
    install_tree gui "$window"
    python3 "$tools/check_symbols.py" "$window/bin/shardscope-gui" 2.34
    wheel_of shardscope-gui gui "$window" "manylinux_2_34_$machine"
fi

if wanted deb; then
    configure_dist build/dist-deb -DSHARDSCOPE_BUILD_GUI=ON -DCMAKE_INSTALL_PREFIX=/usr
    build build/dist-deb
    (cd "$root/build/dist-deb" && cpack -G DEB -B "$out" >cpack.log 2>&1) || { cat "$root/build/dist-deb/cpack.log"; exit 1; }
    rm -rf "$out/_CPack_Packages"
    ls "$out"/*.deb
fi
