# SPDX-License-Identifier: Apache-2.0
"""Answers about values: the values themselves, statistics, differences, fingerprints."""

from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from .base import Answer
from .reading import Finding, Parallel


@dataclass(frozen=True)
class Octave(Answer):
    """Values between two powers of two."""

    exponent: int
    count: int


@dataclass(frozen=True)
class Histogram(Answer):
    """Counts between edges."""

    edges: List[float]  #: ascending, one more than counts; nearly equal widths
    counts: List[int]
    octaves: List[Octave]


@dataclass(frozen=True)
class Tensor(Answer):
    """Statistics of one tensor."""

    name: str
    state: str
    dtype: str
    elements: int  #: of the tensor
    exact: bool  #: false: the statistics are of a sample
    read: int  #: elements that the statistics cover
    missing: int  #: elements that could not be read
    min: Optional[float]  #: of the finite values; null where there are none
    max: Optional[float]  #: of the finite values; null where there are none
    mean: Optional[float]  #: of the finite values; null where there are none
    std: Optional[float]  #: population standard deviation; null if no value is finite
    l1: Optional[float]  #: of the finite values; null where there are none
    l2: Optional[float]  #: of the finite values; null where there are none
    zeros: int
    nan: int
    inf: int
    histogram: Optional[Histogram] = None


@dataclass(frozen=True)
class Compute(Answer):
    """The device that computed, and why."""

    device: str  #: cpu, cuda:0, …
    by: str
    reason: Optional[str]
    notes: List[str]


@dataclass(frozen=True)
class StatsAnswer(Answer):
    """Statistics of tensors."""

    path: str  #: PATH as it was given
    checkpoint: str  #: the folder that relative paths start from
    tag: Optional[str]
    findings: List[Finding]
    tensors: List[Tensor]
    compute: Compute  #: the compute device that was used, and why
    selected: Optional[str] = None  #: the file that PATH named


@dataclass(frozen=True)
class DiffSide(Answer):
    """One of the two checkpoints."""

    path: str
    checkpoint: str
    tag: Optional[str]
    kind: str


@dataclass(frozen=True)
class Compared(Answer):
    """What was compared."""

    parameters: int
    tensors: int
    elements: int
    scalars: int


@dataclass(frozen=True)
class NotComparedReason(Answer):
    """A reason why something was not compared."""

    code: str
    side: str
    message: str
    where: Optional[str]


@dataclass(frozen=True)
class NotCompared(Answer):
    """What was not compared: neither side has it, or a side has it in a form that is not understood."""

    parameters: int
    tensors: int
    elements: int  #: as far as they are known
    why: List[str]  #: codes that `allow` accepts; empty if everything was compared
    reasons: List[NotComparedReason]


@dataclass(frozen=True)
class Cause(Answer):
    """A probable cause of differences."""

    code: str
    side: str
    message: str
    evidence: List[str]


@dataclass(frozen=True)
class Difference(Answer):
    """One difference. `max_abs` and `rel_l2` are of values, in float64."""

    kind: str
    param: Optional[str]
    state: Optional[str]  #: null for the parameter itself
    is_copy: Optional[bool] = None  #: a 16-bit copy next to masters: not part of the training state
    elements: Optional[int] = None
    count: Optional[int] = None  #: elements that differ
    beyond_tolerance: Optional[int] = None
    last_bit: Optional[int] = None  #: of count: neighbouring values
    not_finite: Optional[int] = None  #: of count: NaN or infinite on a side
    first: Optional[int] = None  #: first element that differs
    max_abs: Optional[float] = None
    rel_l2: Optional[float] = None
    cosine: Optional[float] = None
    of: Optional[str] = None  #: group/N, loss_scaler, lr_scheduler, engine or client_state
    name: Optional[str] = None
    left: Optional[str] = None  #: dtype of tensors, value of scalars; null: does not exist
    right: Optional[str] = None


@dataclass(frozen=True)
class UpdateSize(Answer):
    """How far the weights are apart in optimizer updates."""

    param: str
    without_gradient: float
    with_unit_gradient: float
    weights_apart: float


@dataclass(frozen=True)
class DiffAnswer(Answer):
    """Whether two checkpoints hold the same training state."""

    left: DiffSide
    right: DiffSide
    equal: bool  #: everything was compared, without differences above the tolerance
    compared: Compared
    not_compared: NotCompared
    verdict: str
    verdict_text: str
    causes: List[Cause]
    differences: List[Difference]
    updates: List[UpdateSize]  #: the next optimizer step of both sides, relative to its length
    compute: Compute  #: the compute device that was used, and why


@dataclass(frozen=True)
class Scalar(Answer):
    """A scalar of the training state."""

    name: str
    state: str
    text: str  #: the canonical text that is digested
    digest: str  #: 32 lower-case hex digits


@dataclass(frozen=True)
class FingerprintRun(Answer):
    """The run of a partial fingerprint."""

    tag: str
    kind: str
    parallel: Parallel
    global_steps: Optional[int]
    model: str  #: digest of the parameters' names, shapes and groups


@dataclass(frozen=True)
class Covered(Answer):
    """How much of the state was read."""

    elements: int
    of: int


@dataclass(frozen=True)
class FileState(Answer):
    """A state's part of a file."""

    digest: str  #: 32 lower-case hex digits
    elements: int


@dataclass(frozen=True)
class FingerprintFile(Answer):
    """A file that was read."""

    path: str
    bytes: int
    digest: str  #: of its content
    states: Dict[str, FileState]  #: what the file adds to each state


@dataclass(frozen=True)
class FingerprintAnswer(Answer):
    """The fingerprint of a training state: 32 hex digits."""

    complete: bool
    joined: bool  #: tensor slices and pipeline stages were merged before digesting
    fingerprint: Optional[str]
    fingerprint_version: int  #: of its definition; fingerprints of two versions are not comparable
    states: Dict[str, str]  #: all tensors of one state; empty unless complete
    scalars: List[Scalar]  #: the parts of the state that are not tensors
    path: Optional[str] = None  #: PATH as it was given
    checkpoint: Optional[str] = None  #: the folder that relative paths start from
    tag: Optional[str] = None
    selected: Optional[str] = None  #: the file that PATH named
    combined: Optional[List[str]] = None
    parameters: Optional[Dict[str, Dict[str, str]]] = None
    run: Optional[FingerprintRun] = None
    covered: Optional[Dict[str, Covered]] = None  #: with --partial and --combine: by state
    files: Optional[List[FingerprintFile]] = None
    missing: Optional[List[str]] = None
    compute: Optional[Compute] = None  #: the compute device that was used, and why


@dataclass(frozen=True)
class NpyFile(Answer):
    """The file of `npy`."""

    path: str
    dtype: str
    bytes: int


@dataclass(frozen=True)
class ShowAnswer(Answer):
    """Values of a parameter or of one of its states."""

    path: str
    checkpoint: str
    tag: Optional[str]
    name: str
    state: str
    shape: List[int]
    dtype: str
    start: int  #: the first element of `values`
    values: List[Any]  #: numbers, "nan", "inf" and "-inf"; None where the file that holds it is missing or damaged
    truncated: bool
    findings: List[Finding]
    npy: Optional[NpyFile] = None
    selected: Optional[str] = None
