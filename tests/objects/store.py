# SPDX-License-Identifier: Apache-2.0
"""An object store on this machine: `rclone serve s3`, from a virtual environment in the user's cache.

store.py --set-up makes the environment, once per requirements.txt (packaging/setup.sh --with-tools);
store.py --program prints the path of rclone, or nothing if it is not there; store.py --serve ROOT ACCESS SECRET
prints the URL of a server with these keys, which ends with the standard input. Standard library only.
"""

import hashlib
import os
import shutil
import socket
import subprocess
import sys
import time
import venv
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parent / "requirements.txt"
SECONDS = 60  # for the server to answer


def folder():
    base = os.environ.get("SHARDSCOPE_CACHE")
    if not base:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shardscope"
    return Path(base) / f"objects-{hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]}"


def set_up():
    if (folder() / "complete").exists():
        return
    print(f"Setting up the object store of the tests in {folder()} (about 110 MB)", flush=True)
    shutil.rmtree(folder(), ignore_errors=True)
    venv.create(folder(), with_pip=True)
    pip = [folder() / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", REQUIREMENTS], check=True)
    (folder() / "complete").touch()


class Store:
    """A running server; each folder in `root` is a bucket. Without keys, everybody may read."""

    def __init__(self, root, keys=None, certificate=None):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{port}"
        self.keys = keys
        self.log = Path(f"{root}-{port}.log")
        words = [folder() / "bin/rclone", "serve", "s3", root, "--addr", f"127.0.0.1:{port}", "--config", os.devnull]
        words += ["--dir-cache-time", "0s", "--log-file", self.log, "--log-level", "DEBUG", "--read-only"]
        words += ["--auth-key", ",".join(keys)] if keys else []
        words += ["--cert", certificate[0], "--key", certificate[1]] if certificate else []
        self.process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL)
        end = time.monotonic() + SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise
                time.sleep(0.1)

    def variables(self):
        given = {"AWS_ENDPOINT_URL": self.url}
        if self.keys:
            given.update(AWS_ACCESS_KEY_ID=self.keys[0], AWS_SECRET_ACCESS_KEY=self.keys[1])
        return given

    def end(self):
        self.process.terminate()
        self.process.wait()


if __name__ == "__main__":
    if sys.argv[1:] == ["--set-up"]:
        set_up()
    elif sys.argv[1:2] == ["--serve"]:
        served = Store(sys.argv[2], tuple(sys.argv[3:5]))
        print(served.url, flush=True)
        sys.stdin.read()
        served.end()
    elif (folder() / "complete").exists():
        print(folder() / "bin/rclone", end="")
