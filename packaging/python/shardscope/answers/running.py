# SPDX-License-Identifier: Apache-2.0
"""What a running job reports."""

from dataclasses import dataclass
from typing import Optional

from .base import Answer


@dataclass(frozen=True)
class Progress(Answer):
    """How far a job is. `eta_seconds` is None while it is not known."""

    phase: str
    bytes_done: int
    bytes_total: int  #: 0 if unknown
    bytes_per_second: int
    eta_seconds: Optional[float]
