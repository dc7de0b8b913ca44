# SPDX-License-Identifier: Apache-2.0
"""Inspects, verifies, compares, reshards and repairs DeepSpeed checkpoints.

The functions run the program `shardscope`, which needs neither Python nor a GPU, never executes code from a
file and never changes its input. They return what `--json` prints, as typed objects:

    import shardscope

    print(shardscope.inspect("runs/llama").kind)
    shardscope.reshard("runs/llama", "runs/llama-16", world_size=16, progress=print)
"""

from . import answers
from .answers import Answer, Progress
from .commands import (
    FallbackWarning,
    MarkedWarning,
    ReshardWarning,
    ResumeFolder,
    check,
    clean,
    combine_emitted,
    convert,
    diff,
    emit,
    ensure,
    export,
    files,
    fingerprint,
    inspect,
    jobs,
    layout,
    newest_complete,
    params,
    plan,
    repair,
    reshard,
    run_plan,
    show,
    skeleton,
    stats,
    tags,
    verify,
)
from .errors import ShardscopeError
from .program import find_program

__all__ = [
    "Answer",
    "FallbackWarning",
    "MarkedWarning",
    "ReshardWarning",
    "Progress",
    "ResumeFolder",
    "ShardscopeError",
    "answers",
    "check",
    "clean",
    "combine_emitted",
    "convert",
    "diff",
    "emit",
    "ensure",
    "export",
    "files",
    "find_program",
    "fingerprint",
    "inspect",
    "jobs",
    "layout",
    "newest_complete",
    "params",
    "plan",
    "repair",
    "reshard",
    "run_plan",
    "show",
    "skeleton",
    "stats",
    "tags",
    "verify",
]
