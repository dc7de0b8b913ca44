# SPDX-License-Identifier: Apache-2.0
"""Runs a training script whose engines load checkpoints of any number of ranks, without a change to it:

    python -m shardscope.run train.py ARGUMENT...
    python -m shardscope.run -m package.train ARGUMENT...

With a launcher: `deepspeed --module shardscope.run train.py`, `torchrun -m shardscope.run train.py`.
"""

import os
import runpy
import sys
from typing import List


def main(words: List[str]) -> None:
    # The launcher of DeepSpeed puts it before the script that it does not know.
    local = [word for word in words[:1] if word.startswith(("--local_rank=", "--local-rank="))]
    words = words[len(local) :]
    is_module = words[:1] in (["-m"], ["--module"])
    if is_module:
        words = words[1:]
    if not words or words[0] in ("-h", "--help"):
        sys.stderr.write(__doc__ or "")
        sys.exit(0 if words else 2)
    from .deepspeed import install

    install()
    sys.argv = [words[0], *local, *words[1:]]
    if is_module:
        sys.path[0] = os.getcwd()
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(words[0]))
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
