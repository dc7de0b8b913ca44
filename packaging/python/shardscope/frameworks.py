# SPDX-License-Identifier: Apache-2.0
"""Files that a framework around DeepSpeed keeps next to the tag, where a resharded copy has them under other names."""

import functools
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Collection, Dict, List, Optional, Union

PathLike = Union[str, "os.PathLike[str]"]

_random_states: Dict[str, bytes] = {}  # by the folder that a Trainer resumes from, until it asks for them
_stock_random_states: Optional[Callable[[Any, Optional[str]], None]] = None


def random_states_file(
    folder: PathLike, planned: Collection[str], before: int, rank: int, ranks: int
) -> List[str]:
    """The planned file with the random states of this process, if Transformers' Trainer does not find them in the
    checkpoint of `before` processes itself: a run of one process has another name for them."""
    name = _trainers_name(rank, ranks)
    if "transformers.trainer" not in sys.modules or f"../{name}" not in planned:
        return []
    is_there = _trainers_name(rank, before) == name and os.path.isfile(os.path.join(folder, name))
    return [] if is_there else [f"../{name}"]


def keep_random_states(folder: PathLike, content: bytes) -> None:
    """For the Trainer of this process, which asks for them later, when it has skipped the batches that were trained."""
    global _stock_random_states
    module = sys.modules.get("transformers.trainer")
    if module is None:
        return
    trainer = module.Trainer
    if _stock_random_states is None and hasattr(trainer, "_load_rng_state"):
        _stock_random_states = trainer._load_rng_state
        trainer._load_rng_state = functools.wraps(trainer._load_rng_state)(_load_random_states)
    _random_states[os.path.realpath(folder)] = content


def restore() -> None:
    """Takes back what was replaced."""
    global _stock_random_states
    if _stock_random_states is not None:
        sys.modules["transformers.trainer"].Trainer._load_rng_state = _stock_random_states
        _stock_random_states = None
    _random_states.clear()


def _load_random_states(trainer: Any, checkpoint: Optional[str]) -> None:
    assert _stock_random_states is not None
    content = _random_states.pop(os.path.realpath(checkpoint), None) if checkpoint else None
    if content is None:
        _stock_random_states(trainer, checkpoint)
        return
    with tempfile.TemporaryDirectory(prefix="shardscope-") as folder:
        name = _trainers_name(trainer.args.process_index, trainer.args.world_size)
        (Path(folder) / name).write_bytes(content)
        _stock_random_states(trainer, folder)


def _trainers_name(rank: int, ranks: int) -> str:
    """As in Trainer._load_rng_state."""
    return "rng_state.pth" if ranks == 1 else f"rng_state_{rank}.pth"
