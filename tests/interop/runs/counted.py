# SPDX-License-Identifier: Apache-2.0
"""Stands for the program: runs it, and records which bytes it moved."""

import json
import os
import sys


def install(program, folder):
    """A program that does the same as this one, and adds a line to `counts` in the folder each time."""
    path = folder / "shardscope"
    path.write_text(f"#!{sys.executable} -SE\nPROGRAM, COUNTS = {str(program)!r}, {str(folder / 'counts')!r}\n"
                    + open(__file__, encoding="utf-8").read(), encoding="utf-8")
    path.chmod(0o755)
    return path


def moved_by(pid):
    with open(f"/proc/{pid}/io", encoding="ascii") as file:
        return {name: int(value) for name, value in (line.split(": ") for line in file)}


def _main():
    child = os.posix_spawn(PROGRAM, [PROGRAM, *sys.argv[1:]], os.environ)  # noqa: F821
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # until it is reaped, its counts can be read
    line = {"words": sys.argv[1:], "rank": int(os.environ["SHARDSCOPE_PARENT"]), **moved_by(child),
            "counting": moved_by(os.getpid())["rchar"]}
    with open(COUNTS, "a", encoding="utf-8") as file:  # noqa: F821
        file.write(json.dumps(line) + "\n")
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    _main()
