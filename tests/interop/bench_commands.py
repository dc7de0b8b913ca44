# SPDX-License-Identifier: Apache-2.0
"""Times commands on folders: each in a process of its own, with files that are not in the page cache."""

import os
import subprocess
import time


def drop_caches(folder):
    """Asks the kernel to forget the files of a folder; dirty pages must be synced before."""
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            handle = os.open(path, os.O_RDONLY)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(handle)


def measure(command):
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - begin
    if status != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\nended with {status}\n{errors.decode(errors='replace')[-2000:]}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
