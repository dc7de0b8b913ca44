# SPDX-License-Identifier: Apache-2.0
"""Checks every checkpoint that Transformers' Trainer saves.

    from shardscope.transformers import CheckpointCallback

    trainer = Trainer(..., callbacks=[CheckpointCallback()])
"""

import json
import logging
import os
import threading
import time
from pathlib import Path
from typing import Any, Dict, List, Optional

from .commands import check, fingerprint
from .errors import ShardscopeError

try:
    from transformers import TrainerCallback
except ImportError as error:
    raise ImportError("shardscope.transformers needs the package transformers") from error

logger = logging.getLogger(__name__)

RECORD = "shardscope-check.json"

# Other ranks may still write their random states when the main process has saved.
_STILL_WRITTEN = ["rng-gap"]


class CheckpointProblem(Exception):
    """A saved checkpoint has errors, and the callback was asked to stop."""


class CheckpointCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """After each save, looks at names and headers of the checkpoint on the main process.

    The result is written to `checkpoint-N/shardscope-check.json`, next to the tag. A check reads a few KiB of
    each file. It uses no collective call, so that other ranks do not wait for it.

    `on_problem`: "warn" logs errors; "stop" also raises CheckpointProblem on the main process, which ends the
    job as any exception of one rank does.

    `fingerprint`: also computes the fingerprint of the whole training state, which reads every byte. This runs
    in the background with the lowest priority, and is added to the record. At the end of the training the main
    process waits for it.

    A failure of the check itself is logged and never ends the training.
    """

    def __init__(self, on_problem: str = "warn", fingerprint: bool = False) -> None:
        if on_problem not in ("warn", "stop"):
            raise ValueError('on_problem is "warn" or "stop"')
        self.on_problem = on_problem
        self.fingerprint = fingerprint
        self._background: Optional[threading.Thread] = None

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if not state.is_world_process_zero:
            return
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        try:
            record = examine(folder)
            _write(folder, record)
        except (ShardscopeError, OSError) as error:
            logger.warning("shardscope could not check %s: %s", folder, error)
            return
        if self.fingerprint:
            self._start_fingerprint(folder)
        if record["errors"]:
            self._report(folder, record)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.wait()

    def wait(self) -> None:
        """Waits until the fingerprint of the last save is computed."""
        if self._background is not None:
            self._background.join()

    def _report(self, folder: Path, record: Dict[str, Any]) -> None:
        first = record["errors"][0]
        text = f"{folder} has {len(record['errors'])} error(s): {first['message']} [{first['code']}]"
        logger.error("shardscope: %s", text)
        if self.on_problem == "stop":
            raise CheckpointProblem(text)

    def _start_fingerprint(self, folder: Path) -> None:
        former = self._background
        self._background = threading.Thread(
            target=_add_fingerprint, args=(folder, former), name="shardscope", daemon=True
        )
        self._background.start()


def examine(folder: "os.PathLike[str]") -> Dict[str, Any]:
    """What the callback records of a checkpoint: `tag`, `checked_at`, `errors`, `warnings`."""
    result = check(folder, depth="headers", skip=_STILL_WRITTEN).results[0]
    found = result.findings or []

    def of(severity: str) -> List[Dict[str, Any]]:
        return [
            {"code": one.code, "message": one.message, "where": one.where}
            for one in found
            if one.severity == severity
        ]

    return {
        "tag": result.tag,
        "checked_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "depth": result.depth,
        "errors": of("error"),
        "warnings": of("warning"),
        "fingerprint": None,
        "fingerprint_version": None,
    }


def _write(folder: Path, record: Dict[str, Any]) -> None:
    unfinished = folder / (RECORD + ".tmp")
    unfinished.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    os.replace(unfinished, folder / RECORD)


def _add_fingerprint(folder: Path, former: Optional[threading.Thread]) -> None:
    if former is not None:
        former.join()  # one at a time
    try:
        answer = fingerprint(folder, low_priority=True)
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        record["fingerprint"] = answer.fingerprint
        record["fingerprint_version"] = answer.fingerprint_version
        _write(folder, record)
    except (ShardscopeError, OSError, ValueError) as error:  # the folder may have been rotated away
        logger.warning("shardscope could not compute the fingerprint of %s: %s", folder, error)
