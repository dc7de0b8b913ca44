#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that building and testing need, and only those that are missing.
#   packaging/setup.sh                  what the build and its tests need
#   packaging/setup.sh --interop        also what the tests against stock DeepSpeed need
#   packaging/setup.sh --interop full   also what only their whole matrix needs
set -eu

packages="g++ cmake ninja-build git pkg-config
  qt6-base-dev libqt6svg6 qt6-svg-dev
  libspdlog-dev libcli11-dev nlohmann-json3-dev libexpected-dev
  libdeflate-dev zlib1g-dev libxxhash-dev libssl-dev libre2-dev
  doctest-dev ccache fonts-dejavu-core"

case "${1:-}" in
"") ;;
--interop)
    # A Python with venv and headers serves, wherever it comes from: DeepSpeed compiles a small extension.
    if ! python3 -c 'import ensurepip, os, sysconfig, venv
assert os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))' 2>/dev/null; then
        packages="$packages python3 python3-venv python3-dev"
    fi
    # DeepSpeed compiles its asynchronous I/O, for NVMe offload.
    [ "${2:-}" != full ] || packages="$packages libaio-dev"
    ;;
*)
    echo "usage: packaging/setup.sh [--interop [full]]" >&2
    exit 2
    ;;
esac

missing=""
for package in $packages; do
    dpkg -s "$package" 2>/dev/null | grep -q '^Status: install ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "packaging/setup.sh: this is not Debian; install what serves for:$missing" >&2
    exit 1
fi
as_root=""
if [ "$(id -u)" -ne 0 ]; then
    as_root="sudo"
    if ! command -v sudo >/dev/null; then
        echo "packaging/setup.sh: not root and no sudo; as root, run: apt-get install$missing" >&2
        exit 1
    fi
fi
echo "Installing Debian packages:$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get -o DPkg::Lock::Timeout=600 update -q
# shellcheck disable=SC2086  the list is meant to be split
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -q --no-install-recommends $missing
