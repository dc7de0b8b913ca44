# SPDX-License-Identifier: Apache-2.0
"""Answers of the functions that write."""

from dataclasses import dataclass
from typing import Dict, List, Optional

from .base import Answer
from .reading import Finding
from .values import Compute


@dataclass(frozen=True)
class PlannedFile(Answer):
    """A file to be written."""

    path: str
    bytes: int


@dataclass(frozen=True)
class Batch(Answer):
    """A pair that keeps the global batch size."""

    micro_batch: int
    accumulation: int


@dataclass(frozen=True)
class ThreadSeconds(Answer):
    """Seconds of all threads by kind of work."""

    reading: float
    arithmetic: float
    checksums: float
    writing: float
    verification: float


@dataclass(frozen=True)
class StageRates(Answer):
    """Bytes per second of each kind of input and output while it worked; 0 if it did nothing."""

    reading: int
    writing: int
    verification: int


@dataclass(frozen=True)
class Change(Answer):
    """One change of a repair."""

    code: str
    where: Optional[str]
    what: str
    before: Optional[str]
    after: Optional[str]
    marked: bool  #: reconstructed, not read from a file


@dataclass(frozen=True)
class RepairCheck(Answer):
    """The check after a repair."""

    ok: bool
    remaining: List[str]
    appeared: List[Finding]
    told: List[Finding]


@dataclass(frozen=True)
class Plan(Answer):
    """What will be written."""

    id: str
    world_size: Optional[int]
    target: str
    reads_bytes: int
    writes_bytes: int
    files: List[PlannedFile]
    memory_bytes: int
    free_bytes: Optional[int]
    sub_group_size: Optional[int]
    batch: List[Batch]
    must_stay_equal: Dict[str, str]
    warnings: List[Finding]
    kind: str  #: what is written
    replaces: Optional[List[str]] = None
    format: Optional[str] = None  #: of a distributed checkpoint
    dtype: Optional[str] = None  #: of a distributed checkpoint: no tensors are cast
    tensors: Optional[int] = None  #: of an export: the number of tensors that are written


@dataclass(frozen=True)
class WriteResult(Answer):
    """What was written. `bytes_per_second` is of the output."""

    output: str
    seconds: float
    bytes_written: int
    bytes_reused: int
    bytes_per_second: int
    device: str
    verified: bool
    was_done: bool  #: an earlier run of the same command had finished: nothing was written and verified
    read_directly: bool  #: everything was read back by direct I/O, not through the page cache
    fingerprint: Optional[str]
    fingerprint_version: int  #: of its definition; fingerprints of two versions are not comparable
    peak_buffer_bytes: int
    compute: Compute  #: the compute device that was used, and why
    thread_seconds: ThreadSeconds  #: of all threads together, by stage
    processor_seconds: float  #: of the whole process while the job ran
    bytes_per_second_of: StageRates
    limited_by: Optional[str]


@dataclass(frozen=True)
class PartResult(Answer):
    """What a run wrote of one part of a job."""

    index: int
    count: int
    bytes: int  #: of the part
    files: int
    bytes_written: int  #: by this run
    bytes_reused: int
    seconds: float
    bytes_per_second: int
    device: str
    verified: bool
    work_folder: str


@dataclass(frozen=True)
class WriteAnswer(Answer):
    """A plan and, unless `dry_run`, its result."""

    checkpoint: str
    tag: str
    destination: str
    plan: Plan
    result: Optional[WriteResult] = None
    part: Optional[PartResult] = None
    fixed: Optional[List[str]] = None  #: codes of the findings that are repaired
    changes: Optional[List[Change]] = None
    checked_again: Optional[bool] = None
    check: Optional[RepairCheck] = None  #: of what was written


@dataclass(frozen=True)
class PlanAnswer(Answer):
    """A plan that was saved to `file`."""

    checkpoint: str
    tag: str
    destination: str
    plan: Plan
    file: str
    fixed: Optional[List[str]] = None  #: codes of the findings that are repaired
    changes: Optional[List[Change]] = None


@dataclass(frozen=True)
class UnfinishedWork(Answer):
    """What an interrupted job or report left, or a running one uses."""

    path: str
    target: str  #: the tag, folder or file that the job writes
    kind: str  #: "folder", "file", "link"
    bytes: int
    age_seconds: int  #: since the newest file in it was written
    publishing: bool  #: the job was moving the files of an export into place
    state: str  #: "abandoned", "in-use", "half-published", "foreign", "removed"


@dataclass(frozen=True)
class CleanAnswer(Answer):
    """The unfinished work in a folder."""

    path: str
    work: List[UnfinishedWork]


@dataclass(frozen=True)
class SkeletonAnswer(Answer):
    """A checkpoint without its values, for a bug report."""

    path: str
    checkpoint: str
    tag: Optional[str]
    output: str
    files: int  #: in the skeleton
    bytes_before: int  #: of these files
    bytes_after: int  #: of the skeleton
    redacted_keys: List[str]  #: of the client state, without their values
    kept_keys: List[str]  #: of the client state, with their values
    size_only: List[str]  #: files that keep only their size and time
    selected: Optional[str] = None


@dataclass(frozen=True)
class PassedOver(Answer):
    """A newer tag that cannot be used."""

    tag: str
    why: str


@dataclass(frozen=True)
class RemovedCopy(Answer):
    """An older copy that was removed."""

    folder: str


@dataclass(frozen=True)
class KeptCopy(Answer):
    """An older copy that was not removed."""

    folder: str
    why: str


@dataclass(frozen=True)
class EnsureAnswer(Answer):
    """The folder that a number of ranks can load."""

    path: str
    run: str
    world_size: int
    folder: Optional[str]  #: None without a complete tag
    tag: Optional[str]
    step: Optional[int]
    how: Optional[str]  #: "fits", "found", "made"
    verified: bool  #: every byte of the folder was read and compared by this call
    waited: bool  #: for another process that makes the same copy
    marks: List[Finding]  #: parts of the tag that no run saved
    warnings: List[Finding]  #: what the copy changes for the run, as reshard warns of it
    passed_over: List[PassedOver]
    removed: List[RemovedCopy]
    kept: List[KeptCopy]
    result: Optional[WriteResult] = None
