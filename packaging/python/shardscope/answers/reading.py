# SPDX-License-Identifier: Apache-2.0
"""Answers about what a checkpoint holds and where it is stored."""

from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from .base import Answer


@dataclass(frozen=True)
class Parallel(Answer):
    """How many data, tensor, pipeline and expert parallel ranks."""

    dp: int
    tp: int
    pp: int
    ep: int


@dataclass(frozen=True)
class Versions(Answer):
    """Versions that the files record."""

    deepspeed: Optional[str]
    format: Optional[str] = None


@dataclass(frozen=True)
class StepCounters(Answer):
    """Counters of the run; `optimizer` has one step per param group."""

    global_steps: Optional[int]
    global_samples: Optional[int]
    skipped_steps: Optional[int]
    optimizer: List[Optional[float]]


@dataclass(frozen=True)
class ParameterCounts(Answer):
    """Numbers of parameters; `elements` counts elements."""

    count: int
    elements: int
    trainable: int
    frozen: int
    shared: int
    buffers: int


@dataclass(frozen=True)
class ParamGroup(Answer):
    """One param group of the optimizer with its options."""

    index: int
    parameters: int
    elements: int
    options: Dict[str, Any]  #: the optimizer's own keys


@dataclass(frozen=True)
class FileCounts(Answer):
    """Number and bytes of the files that belong to the checkpoint."""

    count: int
    bytes: int


@dataclass(frozen=True)
class Finding(Answer):
    """Damage or an anomaly. `where` is an address or a path."""

    code: str
    severity: str
    message: str
    where: Optional[str]
    evidence: List[str]


@dataclass(frozen=True)
class InspectAnswer(Answer):
    """What a checkpoint is."""

    path: str  #: PATH as it was given
    checkpoint: str  #: the folder that relative paths start from
    tag: Optional[str]
    tags: List[str]
    latest: Optional[str]
    supported: bool
    why_not: Optional[str]
    kind: str
    zero_stage: int
    parallel: Parallel
    precision: Optional[str]
    optimizer: Optional[str]
    versions: Versions
    step: StepCounters
    parameters: ParameterCounts
    states: List[str]
    param_groups: List[ParamGroup]
    loss_scale: Optional[float]
    client_state: List[str]
    files: FileCounts
    wrapper: Optional[str]
    complete: bool  #: every rank's file exists and matches
    skeleton: bool  #: a skeleton: structure without values, made for a bug report
    evidence: List[str]
    findings: List[Finding]
    selected: Optional[str] = None  #: the file that PATH named
    sub_group_size: Optional[int] = None  #: ZeRO-3 only


@dataclass(frozen=True)
class FindingCounts(Answer):
    """Findings by severity, from names and headers."""

    error: int
    warning: int
    info: int


@dataclass(frozen=True)
class Tag(Answer):
    """One tag of a run."""

    tag: str
    folder: str
    step: Optional[int]  #: global steps
    modified: Optional[str]  #: of the newest file, UTC
    bytes: int
    kind: str
    parallel: Parallel
    complete: bool
    latest: bool  #: the pointer file names it, or it is the newest numbered checkpoint
    fingerprint: Optional[str]  #: from the manifest of a job of this program
    fingerprint_version: Optional[int]  #: of its definition; fingerprints of two versions are not comparable
    findings: FindingCounts  #: counts, from names and headers
    error: Optional[Dict[str, Any]] = None  #: why the tag cannot be read
    why: Optional[str] = None  #: why it is not complete


@dataclass(frozen=True)
class TagsAnswer(Answer):
    """The tags of a run, oldest first."""

    path: str
    run: str
    tags: List[Tag]  #: oldest first; with --newest-complete only those that were read
    newest_complete: Optional[str]  #: the folder of the newest complete tag


@dataclass(frozen=True)
class StateType(Answer):
    """How a state is stored."""

    dtype: str
    shape: List[int]


@dataclass(frozen=True)
class Parameter(Answer):
    """One parameter with its states."""

    name: str
    shape: List[int]
    dtype: str
    elements: int
    role: str
    group: Optional[int]
    trainable: bool
    shared_with: Optional[str]
    states: Dict[str, StateType]


@dataclass(frozen=True)
class ParamsAnswer(Answer):
    """The parameters."""

    path: str  #: PATH as it was given
    checkpoint: str  #: the folder that relative paths start from
    tag: Optional[str]
    parameters: List[Parameter]
    findings: List[Finding]
    selected: Optional[str] = None  #: the file that PATH named
    filter: Optional[str] = None  #: in files that the window saves: the filter that chose the parameters


@dataclass(frozen=True)
class Rank(Answer):
    """A rank: its data, tensor and pipeline parallel number."""

    dp: int
    tp: int
    pp: int


@dataclass(frozen=True)
class Padding(Answer):
    """Elements of padding, and whether they are stored."""

    elements: int
    kind: str


@dataclass(frozen=True)
class RankShare(Answer):
    """A rank's part of a group."""

    rank: Rank
    file: Optional[str]
    elements: int
    padding: Dict[str, Padding]


@dataclass(frozen=True)
class Group(Answer):
    """A param group, a sub-group or a frozen parameter, and its parts on the ranks."""

    group: Optional[int]
    subgroup: Optional[int]
    elements: int
    alignment: int
    parameter_alignment: int
    partition_elements: int
    ranks: List[RankShare]
    param: Optional[str] = None  #: the parameter, for a frozen one that is partitioned alone


@dataclass(frozen=True)
class Fragment(Answer):
    """Elements that follow each other in one file. Offsets of files are bytes."""

    param: str
    param_offset: int
    rank: Rank
    group: Optional[int]
    subgroup: Optional[int]
    flat_offset: Optional[int]
    elements: int
    state: str
    file: Optional[str]
    record: Optional[str]
    byte_offset: Optional[int]
    bytes: int
    column_major: Optional[bool] = None


@dataclass(frozen=True)
class Location(Answer):
    """One place in all forms of address."""

    address: str
    param: Optional[str]
    flat: Optional[str]
    file: Optional[str]
    byte_offset: Optional[int]
    padding: str


@dataclass(frozen=True)
class LayoutAnswer(Answer):
    """Where everything is stored."""

    path: str  #: PATH as it was given
    checkpoint: str  #: the folder that relative paths start from
    tag: Optional[str]
    findings: List[Finding]
    selected: Optional[str] = None  #: the file that PATH named
    groups: Optional[List[Group]] = None
    fragments: Optional[List[Fragment]] = None
    location: Optional[Location] = None


@dataclass(frozen=True)
class Record(Answer):
    """A record of a torch file."""

    name: str
    offset: int
    bytes: int
    crc32: Optional[str]
    damaged: bool
    used_by: List[str]


@dataclass(frozen=True)
class File(Answer):
    """A file of the checkpoint."""

    path: str
    role: str
    bytes: int
    rank: Optional[Rank]
    records: int  #: number of zip records
    status: str
    zip_records: Optional[List[Record]] = None


@dataclass(frozen=True)
class FilesAnswer(Answer):
    """The files of a checkpoint."""

    path: str  #: PATH as it was given
    checkpoint: str  #: the folder that relative paths start from
    tag: Optional[str]
    supported: bool
    why_not: Optional[str]
    files: List[File]
    findings: List[Finding]
    selected: Optional[str] = None  #: the file that PATH named
