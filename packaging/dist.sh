#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds what users install, into build/dist. The same commit gives the same bytes in any folder.
#   packaging/dist.sh static       the command line without shared libraries, as a tarball
#   packaging/dist.sh wheel        the wheel `shardscope`: this program and the Python package
#   packaging/dist.sh gui-wheel    the wheel `shardscope-gui`: the window, on the Qt of PySide6-Essentials
#   packaging/dist.sh deb          the Debian packages `shardscope` and `shardscope-gui`
#   packaging/dist.sh all          everything; the default
set -eu
. "$(dirname "$0")/build.sh"

what=${1:-all}
case $what in
static | wheel | gui-wheel | deb | all) ;;
*)
    echo "usage: packaging/dist.sh [static|wheel|gui-wheel|deb|all]" >&2
    exit 2
    ;;
esac
wanted() { [ "$what" = all ] || [ "$what" = "$1" ]; }

"$root/packaging/setup.sh"
libtorch=OFF # needs the user's own LibTorch
machine=$(uname -m)
out=$root/build/dist
tools=$root/packaging/dist
mkdir -p "$out"
# The time of the commit stands for all times.
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 315532800)
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
umask 022

# configure_dist FOLDER [CMake argument...]: as `release`. Link-time optimisation and build identifiers differ by folder.
configure_dist() {
    folder=$1
    shift
    configure release "$folder" -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=OFF -DSHARDSCOPE_BUILD_TESTS=OFF \
        -DCMAKE_EXE_LINKER_FLAGS=-Wl,--build-id=none "$@"
}

version_of() {
    sed -n 's/^project(shardscope VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt"
}

# Programs and archives without shared libraries of Debian, so that they run elsewhere.
if wanted static || wanted wheel || wanted gui-wheel; then
    configure_dist build/dist-portable -DSHARDSCOPE_ARCHIVES=ON -DSHARDSCOPE_BUILD_GUI="$(wanted gui-wheel && echo ON || echo OFF)"
fi

if wanted static || wanted wheel; then
    build build/dist-portable shardscope-static
    program=$root/build/dist-portable/program/shardscope
    mkdir -p "$(dirname "$program")"
    strip -o "$program" "$root/build/dist-portable/app/cli/shardscope-static"
fi

if wanted static; then
    name=shardscope-$(version_of)-linux-$machine
    rm -rf "$out/$name"
    mkdir -p "$out/$name/bin" "$out/$name/share/man/man1"
    cp "$program" "$out/$name/bin/shardscope"
    cp "$root/packaging/man/shardscope.1" "$out/$name/share/man/man1/"
    for entry in bash-completion/completions/shardscope:bash zsh/site-functions/_shardscope:zsh \
        fish/vendor_completions.d/shardscope.fish:fish; do
        target=$out/$name/share/${entry%:*}
        mkdir -p "$(dirname "$target")"
        "$program" completion "${entry#*:}" >"$target"
    done
    cp "$root/LICENSE" "$root/README.md" "$root/CHANGELOG.md" "$out/$name/"
    python3 "$tools/notices.py" static >"$out/$name/THIRD-PARTY-NOTICES"
    python3 "$tools/sbom.py" static "$(version_of)" >"$out/$name/sbom.cdx.json"
    tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
        -C "$out" -cf - "$name" | gzip -9n >"$out/$name.tar.gz"
    rm -rf "${out:?}/$name"
    echo "$out/$name.tar.gz"
fi

if wanted wheel; then
    # A static program runs under every libc.
    python3 "$root/packaging/python/build_wheel.py" shardscope "$program" \
        "manylinux1_$machine.manylinux2014_$machine.musllinux_1_1_$machine" "$out"
fi

if wanted gui-wheel; then
    build build/dist-portable shardscope-gui
    window=$root/build/dist-portable/program/shardscope-gui
    mkdir -p "$(dirname "$window")"
    strip -o "$window" "$root/build/dist-portable/app/gui/shardscope-gui"
    python3 "$tools/check_symbols.py" "$window" 2.34
    python3 "$root/packaging/python/build_wheel.py" shardscope-gui "$window" "manylinux_2_34_$machine" "$out"
fi

if wanted deb; then
    configure_dist build/dist-deb -DSHARDSCOPE_BUILD_GUI=ON -DSHARDSCOPE_STATIC=OFF -DCMAKE_INSTALL_PREFIX=/usr
    build build/dist-deb
    (cd "$root/build/dist-deb" && cpack -G DEB -B "$out" >cpack.log 2>&1) || { cat "$root/build/dist-deb/cpack.log"; exit 1; }
    rm -rf "$out/_CPack_Packages"
    ls "$out"/*.deb
fi
