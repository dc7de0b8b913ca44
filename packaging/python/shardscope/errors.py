# SPDX-License-Identifier: Apache-2.0
"""The error that all functions raise."""

from typing import Optional, Sequence


class ShardscopeError(Exception):
    """Why the program could not do it.

    `code` is stable and meant for scripts: "usage", "not-found", "unreadable", "unsupported", "refused", …
    `path`, `hint` and `command` (what to run next, quoted for a shell) may be None. `runs` lists checkpoints that
    were found at `path`, to be opened instead. `exit_code` is the program's exit status.
    """

    def __init__(
        self,
        code: str,
        message: str,
        path: Optional[str] = None,
        hint: Optional[str] = None,
        exit_code: int = 70,
        command: Optional[str] = None,
        runs: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.path = path
        self.hint = hint
        self.exit_code = exit_code
        self.command = command
        self.runs = list(runs)

    def __str__(self) -> str:
        out = self.message
        if self.path:
            out += f" ({self.path})"
        return f"{out}; {self.hint}" if self.hint else out
