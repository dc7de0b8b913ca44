# SPDX-License-Identifier: Apache-2.0
"""Fails if a program needs a newer glibc, or libstdc++ as a shared library: check_symbols.py PROGRAM GLIBC."""

import re
import subprocess
import sys


def main(program, newest):
    symbols = subprocess.check_output(["objdump", "-T", program], text=True)
    needed = {tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([0-9.]+)", symbols)}
    libraries = re.findall(r"NEEDED\s+(\S+)", subprocess.check_output(["objdump", "-p", program], text=True))
    allowed = re.compile(r"^(libQt6\w+\.so\.6|lib(c|m|pthread|dl|rt|gcc_s)\.so\.[0-9]+|ld-linux.*)$")
    foreign = [library for library in libraries if not allowed.match(library)]
    if foreign:
        sys.exit(f"{program} needs {', '.join(foreign)}")
    if max(needed) > tuple(map(int, newest.split("."))):
        sys.exit(f"{program} needs glibc {'.'.join(map(str, max(needed)))}, which is newer than {newest}")


main(*sys.argv[1:])
