# SPDX-License-Identifier: Apache-2.0
"""Lets the ranks load the source of a reshard in place of its result, without a copy (shardscope.deepspeed)."""

import contextlib
import os
import sys
from pathlib import Path

_OF_WRITING = ("force", "jobs", "memory_limit", "sha256", "no_verify", "device", "restart", "part", "finish", "tag_out",
               "no_latest", "bwlimit", "dry_run")

_sources = {}  # by the folder of the result


def prepare(package, program):
    sys.path.insert(0, str(package))
    os.environ["SHARDSCOPE_PROGRAM"] = str(program)


def record(source, target, words, stock_alone=False):
    """That `shardscope reshard` was called with these options. `stock_alone`: DeepSpeed must load the source itself."""
    options = {}
    words = [str(word) for word in words]
    for position, word in enumerate(words):
        if not word.startswith("--"):
            continue
        name = word[2:].replace("-", "_")
        has_value = position + 1 < len(words) and not words[position + 1].startswith("--")
        value = words[position + 1] if has_value else True
        options[name] = [*options[name], value] if name in options else [value] if has_value else value
    for name, value in options.items():
        if isinstance(value, list) and len(value) == 1:
            options[name] = value[0]
    options = {name: value for name, value in options.items() if name not in _OF_WRITING}
    _sources[Path(target).resolve()] = (str(source), options, stock_alone)


@contextlib.contextmanager
def without_program():
    """While DeepSpeed loads: all that it asks for was read before, so that a damaged file leaves the engine as it was."""
    program = os.environ["SHARDSCOPE_PROGRAM"]
    os.environ["SHARDSCOPE_PROGRAM"] = "/absent/because/all/files/are/read/before"
    try:
        yield
    finally:
        os.environ["SHARDSCOPE_PROGRAM"] = program


def redirect():
    """On a rank: from now on engines load the recorded sources."""
    if not _sources:
        return
    from deepspeed.runtime.engine import DeepSpeedEngine
    stock = DeepSpeedEngine.load_checkpoint

    def load(engine, load_dir, tag=None, **arguments):
        found = _sources.get(Path(load_dir).resolve())
        if found is None:
            with without_program():
                return stock(engine, load_dir, tag, **arguments)
        from shardscope import deepspeed as ours
        if found[2]:
            ours._Files = None
        before = engine.checkpoint_engine
        out = ours.load_checkpoint(engine, found[0], found[1].get("tag", tag), **arguments,
                                   **{name: value for name, value in found[1].items() if name != "tag"})
        if engine.checkpoint_engine is not before:
            raise RuntimeError("the engine has another checkpoint engine than before")
        return out

    DeepSpeedEngine.load_checkpoint = load
