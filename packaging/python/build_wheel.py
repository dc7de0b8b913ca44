# SPDX-License-Identifier: Apache-2.0
"""Builds a wheel: build_wheel.py PACKAGE TREE PLATFORM FOLDER [NOTICES SBOM].

PACKAGE is `shardscope`, with the command line, or `shardscope-gui`, with the window. TREE is what `cmake --install` has
put in one folder. A wheel is a zip file with a list of its files (PEP 427): TREE's program, the Python package, and what
pip puts in the `share` folder of the environment, such as the manual page. The same input gives the same bytes. PLATFORM
is the tag of the program: "linux_x86_64" for one that needs this machine's libraries, or several with dots for a static
one. NOTICES and SBOM name files about the libraries in the program. Standard library only. Prints the wheel's path.
"""

import base64
import hashlib
import re
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple, Tuple

import generate_answers

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip file can record
MODE_FILE, MODE_PROGRAM = 0o100644, 0o100755


class Package(NamedTuple):
    name: str  # of the program and of its command
    module: str  # of Python
    summary: str
    readme: str
    entry: str  # what the command calls
    requires: Tuple[str, ...] = ()
    shared: Tuple[str, ...] = ()  # files below TREE/share that MODULE/share gets, for its own use
    installed: Tuple[str, ...] = ()  # folders below TREE/share that pip installs
    found_by: Tuple[Tuple[str, str, str], ...] = ()  # entry points of other packages: group, name, object


ID = "org.shardscope.Shardscope"
PACKAGES = {
    package.name: package
    for package in (
        Package(
            "shardscope",
            "shardscope",
            "Inspect, verify, compare, reshard and repair DeepSpeed checkpoints",
            "README.md",
            "shardscope.program:main",
            installed=("man", "bash-completion", "zsh", "fish", "shardscope", "doc"),
            found_by=(("fsspec.specs", "shardscope", "shardscope.filesystem:FileSystem"),),
        ),
        Package(
            "shardscope-gui",
            "shardscope_gui",
            "The window of Shardscope, for DeepSpeed checkpoints",
            "README-gui.md",
            "shardscope_gui:main",
            ("PySide6-Essentials>=6.4",),
            (f"applications/{ID}.desktop", f"mime/packages/{ID}.xml", f"icons/hicolor/scalable/apps/{ID}.svg"),
            ("man",),
        ),
    )
}


def version():
    """The one version number of the project."""
    text = (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"^project\(shardscope VERSION ([0-9.]+) ", text, re.MULTILINE).group(1)


def metadata(package):
    return (
        "Metadata-Version: 2.1\n"
        f"Name: {package.name}\n"
        f"Version: {version()}\n"
        f"Summary: {package.summary}\n"
        "License: Apache-2.0\n"
        + "".join(f"Requires-Dist: {one}\n" for one in package.requires)
        + "Requires-Python: >=3.9\n"
        "Classifier: Operating System :: POSIX :: Linux\n"
        "Classifier: Typing :: Typed\n"
        "Description-Content-Type: text/markdown\n"
        f"\n{(HERE / package.readme).read_text(encoding='utf-8')}"
    )


def entry_points(package):
    """The command; and for fsspec, what reads addresses shardscope://PATH."""
    text = f"[console_scripts]\n{package.name} = {package.entry}\n"
    return text + "".join(f"[{group}]\n{name} = {value}\n" for group, name, value in package.found_by)


def content(package, tree, platform, notices=None, sbom=None):
    """Name in the wheel → (bytes, mode)."""
    info = f"{package.module}-{version()}.dist-info"
    out = {f"{package.module}/bin/{package.name}": ((tree / "bin" / package.name).read_bytes(), MODE_PROGRAM)}
    for path in sorted((HERE / package.module).rglob("*")):
        if path.is_file() and path.suffix in (".py", ".typed"):
            out[str(path.relative_to(HERE))] = (path.read_bytes(), MODE_FILE)
    for name in package.shared:
        out[f"{package.module}/share/{Path(name).name}"] = ((tree / "share" / name).read_bytes(), MODE_FILE)
    data = f"{package.module}-{version()}.data/data"
    for name in package.installed:
        for path in sorted((tree / "share" / name).rglob("*")):
            if path.is_file():
                out[f"{data}/{path.relative_to(tree)}"] = (path.read_bytes(), MODE_FILE)
    if package.module == "shardscope":
        classes = generate_answers.source(tree / "share/shardscope/schemas")
        out["shardscope/answers/__init__.py"] = (classes.encode(), MODE_FILE)
    tags = "".join(f"Tag: py3-none-{one}\n" for one in platform.split("."))
    texts = {
        "METADATA": metadata(package),
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: shardscope\nRoot-Is-Purelib: false\n{tags}",
        "entry_points.txt": entry_points(package),
        "LICENSE": (SOURCE / "LICENSE").read_text(encoding="utf-8"),
    }
    for name, text in texts.items():
        out[f"{info}/{name}"] = (text.encode(), MODE_FILE)
    if notices:
        out[f"{info}/licenses/THIRD-PARTY-NOTICES"] = (Path(notices).read_bytes(), MODE_FILE)
    if sbom:  # PEP 770
        out[f"{info}/sboms/{package.name}.cdx.json"] = (Path(sbom).read_bytes(), MODE_FILE)
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


def main(name, tree, platform, folder, notices=None, sbom=None):
    package = PACKAGES[name]
    path = Path(folder) / f"{package.module}-{version()}-py3-none-{platform}.whl"
    write(path, content(package, Path(tree), platform, notices, sbom))
    print(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
