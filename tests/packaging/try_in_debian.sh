#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tries what packaging/dist.sh built in a Debian without any package of ours, in a folder: as root,
#   tests/packaging/try_in_debian.sh build/dist SUITE [ROOT] [WHEELS]
# SUITE: bookworm, trixie, bullseye ... ROOT: a folder that debootstrap has filled; default: a new one. WHEELS: a folder
# with the wheels of PySide6-Essentials; without it the wheel of the window is not tried. DEBs are for bookworm. Prints
# sizes and seconds.
set -eu
dist=$(cd "$1" && pwd)
suite=$2
source=$(cd "$(dirname "$0")/../.." && pwd)
wheels=${4:-}
[ -z "$wheels" ] || wheels=$(cd "$wheels" && pwd)
mirror=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/*.sources 2>/dev/null | head -1)
[ -n "$mirror" ] || mirror=$(sed -n 's/^deb \([^ ]*\) .*/\1/p' /etc/apt/sources.list | head -1)
root=${3:-}
if [ -z "$root" ]; then
    root=$(mktemp -d)
    echo "== debootstrap $suite"
    debootstrap --variant=minbase "$suite" "$root" "$mirror" >/dev/null
fi
inside() { chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 QT_QPA_PLATFORM=offscreen "$@"; }
now() { date +%s.%N; }
since() { echo "$1 $(now)" | awk '{printf "%.1f s", $2 - $1}'; }
mounted=""
end() { for place in $mounted; do umount "$place" || true; done; }
trap end EXIT
for place in proc dev; do
    mount --bind "/$place" "$root/$place"
    mounted="$root/$place $mounted"
done
rm -rf "$root/try"
mkdir -p "$root/try"
cp -r "$dist" "$root/try/dist"
cp -r "$source/tests/data/samples/zero2-w2" "$root/try/run"
echo "== $suite: $(inside ldd --version 2>/dev/null | head -1 || inside getconf GNU_LIBC_VERSION)"

echo "== tarball"
ls -l "$dist"/shardscope-*.tar.gz | awk '{print $5, "bytes"}'
began=$(now)
inside sh -c 'cd /try && tar xzf dist/shardscope-*.tar.gz && shardscope-*/bin/shardscope inspect run | head -1'
echo "unpacked, first inspect: $(since "$began")"
inside sh -c 'cd /try && shardscope-*/bin/shardscope reshard run w3 --world-size 3 --quiet && shardscope-*/bin/shardscope verify w3 --against run >/dev/null && shardscope-*/bin/shardscope diff run w3 | head -1'

echo "== wheel"
inside sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv' >/dev/null 2>&1
inside python3 -m venv /try/venv
ls -l "$dist"/shardscope-*.whl | awk '{print $5, "bytes"}'
began=$(now)
inside sh -c '/try/venv/bin/pip install -q --no-index /try/dist/shardscope-*.whl && /try/venv/bin/shardscope inspect /try/run | head -1'
echo "pip install, first inspect: $(since "$began"), $(inside python3 --version)"
inside /try/venv/bin/python -c 'import shardscope; print(shardscope.inspect("/try/run").kind)'

if [ -n "$wheels" ]; then
    echo "== wheel of the window"
    # What Qt itself needs of the system.
    inside sh -c 'DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends libegl1 libgl1 libxkbcommon0 libfontconfig1 libdbus-1-3 libglib2.0-0 fonts-dejavu-core' >/dev/null 2>&1
    cp -r "$wheels" "$root/try/wheels"
    ls -l "$dist"/shardscope_gui-*.whl | awk '{print $5, "bytes"}'
    began=$(now)
    inside sh -c '/try/venv/bin/pip install -q --no-index --find-links /try/wheels --no-deps /try/wheels/*.whl /try/dist/shardscope_gui-*.whl && /try/venv/bin/shardscope-gui /try/run --screenshot /try/window.png'
    echo "pip install, first window: $(since "$began")"
    inside sh -c 'XDG_DATA_HOME=/try/share /try/venv/bin/shardscope-gui --install-desktop'
    [ -s "$root/try/window.png" ]
fi

if [ "$suite" = bookworm ]; then
    echo "== Debian packages"
    ls -l "$dist"/shardscope*.deb | awk '{print $5, $NF}'
    began=$(now)
    inside sh -c 'apt-get install -y -qq /try/dist/shardscope_*.deb >/dev/null 2>&1 && shardscope inspect /try/run | head -1'
    echo "apt install, first inspect: $(since "$began")"
    # A home without anything stands for another host, and a script for ssh: the package holds what is copied there.
    inside sh -c 'mkdir /try/home /try/tools && ln -s /usr/bin/* /try/tools && rm /try/tools/shardscope'
    printf '#!/bin/sh\nexec env -i HOME=/try/home PATH=/try/tools sh -c "$2"\n' >"$root/try/ssh"
    chmod +x "$root/try/ssh"
    began=$(now)
    inside SHARDSCOPE_SSH=/try/ssh shardscope inspect node7:/try/run | head -1
    echo "first contact with a host: $(since "$began")"
    began=$(now)
    inside sh -c 'DEBIAN_FRONTEND=noninteractive apt-get install -y -qq /try/dist/shardscope-gui_*.deb >/dev/null 2>&1 && shardscope-gui /try/run --screenshot /try/window-deb.png'
    echo "apt install, first window: $(since "$began")"
    [ -s "$root/try/window-deb.png" ]
    echo "== jobs by MPI"
    inside sh -c 'DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openmpi-bin mpich /try/dist/shardscope-openmpi_*.deb /try/dist/shardscope-mpich_*.deb >/dev/null 2>&1'
    inside sh -c 'mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 shardscope --mpi reshard /try/run /try/mpi --world-size 3 --quiet'
    inside sh -c 'mpirun.mpich -n 2 shardscope --mpi diff /try/run /try/mpi | head -1'
    inside apt-get remove -y -qq shardscope shardscope-gui >/dev/null 2>&1
    inside sh -c '! command -v shardscope && ! ls /usr/share/doc/shardscope 2>/dev/null'
fi
echo "== $suite: all passed"
