# SPDX-License-Identifier: Apache-2.0
"""Runs a training script whose engines load checkpoints of any number of ranks, without a change to it:

    python -m shardscope.run train.py ARGUMENT...
    python -m shardscope.run -m package.train ARGUMENT...

With a launcher: `deepspeed --module shardscope.run train.py`, `torchrun -m shardscope.run train.py`,
`accelerate launch --module shardscope.run train.py`. Processes that the script starts do the same.
"""

import io
import os
import runpy
import sys
import types
from typing import List

from .startup.sitecustomize import install_with_engine


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
    startup = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup")
    inherited = os.environ.get("PYTHONPATH")
    if startup not in (inherited or "").split(os.pathsep):
        os.environ["PYTHONPATH"] = startup + (os.pathsep + inherited if inherited else "")
    install_with_engine()
    sys.argv = [words[0], *local, *words[1:]]
    has_own_folder = not getattr(sys.flags, "safe_path", False)
    if is_module:
        if has_own_folder:
            sys.path[0] = os.getcwd()
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    else:
        if has_own_folder:
            sys.path[0] = os.path.dirname(os.path.realpath(words[0]))
        _run_script(words[0])


def _run_script(path: str) -> None:
    """As `python path`. runpy.run_path() would put back another `__main__` before the functions that the script
    registered for the exit run, and its `__file__` would be relative."""
    path = os.path.abspath(path)
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=path, __builtins__=__builtins__, __cached__=None)
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


if __name__ == "__main__":
    main(sys.argv[1:])
