#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two network namespaces with a slow, lossy line between them, for kernels without netem. Needs root.

    tests/hostile/slow_line.py [--delay 0.020] [--loss 0.001] [--rate 2.5e6] COMMAND…

COMMAND runs in the one namespace, whose address is 10.99.0.1. In the other one, 10.99.0.2, a real sshd listens at port
22 with a key of its own; $SLOW_LINE_PATH and $SLOW_LINE_HOME are PATH and HOME there. $SHARDSCOPE_SSH names an ssh that
knows it as `node7`. `--delay` is that of a round trip, in seconds, `--loss` the share of packets that are lost in each
direction, `--rate` in bytes per second in each direction. When COMMAND ends, what went over the line is printed: packets,
bytes and packets lost, in each direction. The exit status is that of COMMAND. Standard library only.
"""

import argparse
import ctypes
import fcntl
import os
import random
import selectors
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from pathlib import Path

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
ADDRESSES = ["10.99.0.1", "10.99.0.2"]
QUEUE_SECONDS = 0.1  # a router's buffer: what would wait longer is lost


def tun_in(namespace, address):
    """A tun device in a namespace: the descriptor of this end."""
    here = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        if libc.setns(there, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"line", IFF_TUN | IFF_NO_PI))
        ip = ["ip", "-n", namespace]
        subprocess.run(ip + ["link", "set", "lo", "up"], check=True)
        subprocess.run(ip + ["address", "add", f"{address}/24", "dev", "line"], check=True)
        subprocess.run(ip + ["link", "set", "line", "up"], check=True)
    finally:
        libc.setns(here, CLONE_NEWNET)
        os.close(here)
        os.close(there)
    return tun


class Direction:
    def __init__(self, to, options, seed):
        self.to = to
        self.options = options
        self.random = random.Random(seed)
        self.waiting = deque()
        self.free = 0.0
        self.packets = self.bytes = self.lost = 0

    def take(self, packet):
        now = time.monotonic()
        self.packets += 1
        self.bytes += len(packet)
        self.free = max(self.free, now)
        if self.random.random() < self.options.loss or self.free - now > QUEUE_SECONDS:
            self.lost += 1
            return
        self.free += len(packet) / self.options.rate
        self.waiting.append((self.free + self.options.delay / 2, packet))

    def pass_on(self):
        """Passes on what is due; seconds to the next one."""
        while self.waiting:
            wait = self.waiting[0][0] - time.monotonic()
            if wait > 0:
                return wait
            try:
                os.write(self.to, self.waiting.popleft()[1])
            except OSError:
                pass
        return None


def relay(ends, directions, stop):
    selector = selectors.DefaultSelector()
    for end, direction in zip(ends, directions):
        selector.register(end, selectors.EVENT_READ, direction)
    while not stop.is_set():
        waits = [wait for wait in (direction.pass_on() for direction in directions) if wait is not None]
        for key, _ in selector.select(min(waits + [0.1])):
            try:
                while True:
                    key.data.take(os.read(key.fd, 65536))
            except BlockingIOError:
                pass


def sshd_files(folder):
    for key in ["host_key", "user_key"]:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
    Path("/run/sshd").mkdir(exist_ok=True)
    home = os.environ.get("SLOW_LINE_HOME", str(folder))
    path = os.environ.get("SLOW_LINE_PATH", "/usr/bin:/bin")
    (folder / "sshd_config").write_text(
        f"ListenAddress {ADDRESSES[1]}\nHostKey {folder}/host_key\nAuthorizedKeysFile {folder}/user_key.pub\n"
        f"StrictModes no\nUsePAM no\nPidFile none\nMaxStartups 100\nSetEnv PATH={path} HOME={home}\n")
    (folder / "ssh_config").write_text(
        f"Host node7\n  HostName {ADDRESSES[1]}\n  IdentityFile {folder}/user_key\n  IdentitiesOnly yes\n"
        "  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--delay", type=float, default=0.020)
    parser.add_argument("--loss", type=float, default=0.001)
    parser.add_argument("--rate", type=float, default=2.5e6)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    names = [f"line{os.getpid()}{side}" for side in "ab"]
    stop = threading.Event()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sshd_files(folder)
        for namespace in names:
            subprocess.run(["ip", "netns", "add", namespace], check=True)
        try:
            ends = [tun_in(namespace, address) for namespace, address in zip(names, ADDRESSES)]
            directions = [Direction(ends[1], options, 1), Direction(ends[0], options, 2)]
            line = threading.Thread(target=relay, args=(ends, directions, stop), daemon=True)
            line.start()
            sshd = subprocess.Popen(["ip", "netns", "exec", names[1], "/usr/sbin/sshd", "-D", "-e", "-f",
                                     folder / "sshd_config"], stderr=open(folder / "sshd.log", "w"))
            time.sleep(0.3)
            environment = dict(os.environ, SHARDSCOPE_SSH=f"ssh -F {folder}/ssh_config")
            done = subprocess.run(["ip", "netns", "exec", names[0]] + options.command, env=environment)
            sshd.terminate()
            sshd.wait()
            stop.set()
            line.join()
            for what, direction in zip(["sent", "received"], directions):
                print(f"{what}: {direction.packets} packets, {direction.bytes} bytes, {direction.lost} lost",
                      file=sys.stderr)
            return done.returncode
        finally:
            for namespace in names:
                subprocess.run(["ip", "netns", "del", namespace], check=False)


if __name__ == "__main__":
    sys.exit(main())
