# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel of the command line: build_wheel.py PROGRAM PLATFORM FOLDER.

A wheel is a zip file with a list of its files (PEP 427): this program and the Python package. The same input
gives the same bytes. PLATFORM is the tag of the program: "linux_x86_64" for one that needs this machine's
libraries, or several with dots for a static one. Standard library only. Prints the wheel's path.
"""

import base64
import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
PACKAGE = "shardscope"
TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip file can record
MODE_FILE, MODE_PROGRAM = 0o100644, 0o100755


def metadata(version):
    description = (HERE / "README.md").read_text(encoding="utf-8")
    return (
        "Metadata-Version: 2.1\n"
        f"Name: {PACKAGE}\n"
        f"Version: {version}\n"
        "Summary: Inspect, verify, compare, reshard and repair DeepSpeed checkpoints\n"
        "License: Apache-2.0\n"
        "Requires-Python: >=3.9\n"
        "Classifier: Operating System :: POSIX :: Linux\n"
        "Classifier: Typing :: Typed\n"
        "Description-Content-Type: text/markdown\n"
        f"\n{description}"
    )


def content(program, version, platform):
    """Name in the wheel → (bytes, mode)."""
    info = f"{PACKAGE}-{version}.dist-info"
    out = {f"{PACKAGE}/bin/{PACKAGE}": (program.read_bytes(), MODE_PROGRAM)}
    for path in sorted((HERE / PACKAGE).rglob("*")):
        if path.is_file() and path.suffix in (".py", ".typed"):
            out[str(path.relative_to(HERE))] = (path.read_bytes(), MODE_FILE)
    tags = "".join(f"Tag: py3-none-{one}\n" for one in platform.split("."))
    texts = {
        "METADATA": metadata(version),
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: {PACKAGE}\nRoot-Is-Purelib: false\n{tags}",
        "entry_points.txt": f"[console_scripts]\n{PACKAGE} = {PACKAGE}.program:main\n",
        "LICENSE": (SOURCE / "LICENSE").read_text(encoding="utf-8"),
    }
    for name, text in texts.items():
        out[f"{info}/{name}"] = (text.encode(), MODE_FILE)
    record = "".join(f"{name},sha256={digest(data)},{len(data)}\n" for name, (data, _) in sorted(out.items()))
    out[f"{info}/RECORD"] = (f"{record}{info}/RECORD,,\n".encode(), MODE_FILE)
    return out


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def write(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name in sorted(files, key=lambda one: (".dist-info/" in one, one)):  # the list of files comes last
            data, mode = files[name]
            entry = zipfile.ZipInfo(name, TIME)
            entry.external_attr = mode << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            wheel.writestr(entry, data)


def main(program, platform, folder):
    version = json.loads(subprocess.check_output([program, "--version", "--json"]))["version"]
    path = Path(folder) / f"{PACKAGE}-{version}-py3-none-{platform}.whl"
    write(path, content(Path(program), version, platform))
    print(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
