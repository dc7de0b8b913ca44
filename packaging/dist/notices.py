# SPDX-License-Identifier: Apache-2.0
"""Prints the licences of the libraries inside a program: notices.py static|gui. From Debian's copyright files."""

import sys
from pathlib import Path

from libraries import libraries_of, version_of

RULE = "=" * 100


def main(program):
    print("Shardscope contains these libraries. Each is under its own licence, which follows.")
    for package, (name, licence, _) in libraries_of(program).items():
        text = Path(f"/usr/share/doc/{package}/copyright").read_text(encoding="utf-8", errors="replace")
        print(f"\n{RULE}\n{name} {version_of(package)} ({licence})\n{RULE}\n\n{text.strip()}")


main(*sys.argv[1:])
