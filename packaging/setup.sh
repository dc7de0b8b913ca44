#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that building and testing need, and only those that are missing. LibTorch comes only when it
# is asked for, because it is large: Debian has an old version without CUDA, so its wheel on PyPI is unpacked into a folder
# of the user's cache. SHARDSCOPE_LIBTORCH=OFF builds without LibTorch; empty, the build uses the system's.
#   packaging/setup.sh                  what building and running need
#   packaging/setup.sh --with-torch     also LibTorch, for faster statistics and casts
#   packaging/setup.sh --with-mpi       also two MPI libraries, for jobs on many machines
#   packaging/setup.sh --with-slurm     also Slurm, which a test starts
#   packaging/setup.sh --with-tools     also shells and checkers that tests run, and an object store in the user's cache
#   packaging/setup.sh --interop        also what the tests against stock DeepSpeed need
#   packaging/setup.sh --interop full   also what only their whole matrix needs
set -eu
. "$(dirname "$0")/build.sh"

packages="g++ cmake ninja-build git pkg-config
  qt6-base-dev libqt6svg6 qt6-svg-dev
  libfmt-dev libspdlog-dev libcli11-dev nlohmann-json3-dev libexpected-dev
  libdeflate-dev libisal-dev zlib1g-dev libxxhash-dev libssl-dev libre2-dev libzstd-dev
  libcurl4 libpugixml-dev
  doctest-dev ccache mold fonts-dejavu-core desktop-file-utils appstream dbus-daemon"

# Of libcurl the header is needed, which two packages have that exclude each other.
dpkg -s libcurl4-gnutls-dev >/dev/null 2>&1 || packages="$packages libcurl4-openssl-dev"

with_torch=""
if [ "${1:-}" = --with-torch ]; then
    with_torch=yes
    shift
fi
if [ "${1:-}" = --with-mpi ]; then
    packages="$packages libopenmpi-dev openmpi-bin libmpich-dev mpich"
    shift
fi
if [ "${1:-}" = --with-slurm ]; then
    packages="$packages slurmctld slurmd slurm-client"
    shift
fi
with_tools=""
if [ "${1:-}" = --with-tools ]; then
    packages="$packages zsh fish groff-base libxml2-utils mypy openssh-client openssh-server"
    python3 -c 'import ensurepip, venv' 2>/dev/null || packages="$packages python3 python3-venv"
    with_tools=yes
    shift
fi
case "${1:-}" in
"") ;;
--interop)
    # A Python with venv and headers serves, wherever it comes from: DeepSpeed compiles a small extension.
    if ! python3 -c 'import ensurepip, os, sysconfig, venv
assert os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))' 2>/dev/null; then
        packages="$packages python3 python3-venv python3-dev"
    fi
    # DeepSpeed compiles its asynchronous I/O, for NVMe offload; 0.14.4 looks for numactl.
    [ "${2:-}" != full ] || packages="$packages libaio-dev numactl"
    ;;
*)
    echo "usage: packaging/setup.sh [--with-torch] [--with-mpi] [--with-slurm] [--with-tools] [--interop [full]]" >&2
    exit 2
    ;;
esac

fetch_libtorch=""
if [ -n "$with_torch" ] && [ "$libtorch" = "$libtorch_folder/torch" ] && [ ! -d "$libtorch" ]; then
    fetch_libtorch=yes
    python3 -m pip --version >/dev/null 2>&1 || packages="$packages python3-pip"
fi

missing=""
for package in $packages; do
    dpkg -s "$package" 2>/dev/null | grep -q '^Status: install ok installed' || missing="$missing $package"
done
install_missing() {
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
}
[ -z "$missing" ] || install_missing

# The wheel alone: of what it depends on, arithmetic on the CPU needs two small libraries of CUDA, even without a GPU.
if [ -n "$fetch_libtorch" ]; then
    echo "Installing LibTorch $libtorch_version (about 540 MB) into $libtorch_folder"
    unfinished=$libtorch_folder.$$
    rm -rf "$unfinished"
    if ! python3 -m pip install -q --no-deps --no-warn-script-location --target "$unfinished" "torch==$libtorch_version" \
        nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85; then
        rm -rf "$unfinished"
        echo "packaging/setup.sh: LibTorch was not installed; SHARDSCOPE_LIBTORCH=OFF builds without it" >&2
        exit 1
    fi
    mv "$unfinished" "$libtorch_folder"
fi

# The server of S3 that tests read from, in an environment of its own.
[ -z "$with_tools" ] || python3 "$root/tests/objects/store.py" --set-up
