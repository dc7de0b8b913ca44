# SPDX-License-Identifier: Apache-2.0
"""Answers of check and verify."""

from dataclasses import dataclass, field
from typing import List, Optional

from .base import Answer
from .reading import Finding
from .values import Compute


@dataclass(frozen=True)
class NotRead(Answer):
    """Bytes that the check did not read, and what they hold."""

    bytes: int  #: of the checkpoint's files; 0 where every byte was read
    what: Optional[str]  #: what these bytes contain


@dataclass(frozen=True)
class CheckSeconds(Answer):
    """Seconds of each depth."""

    names: Optional[float] = None
    headers: Optional[float] = None
    metadata: Optional[float] = None
    bytes: Optional[float] = None


@dataclass(frozen=True)
class Means(Answer):
    """What a finding means for loading, resuming and exporting."""

    loading: Optional[str]
    resuming: Optional[str]
    exporting: Optional[str]


@dataclass(frozen=True)
class Fix(Answer):
    """The command that repairs it."""

    code: str
    command: str  #: DST is a placeholder for a new folder


@dataclass(frozen=True)
class CheckFinding(Answer):
    """A finding with its diagnosis."""

    code: str
    severity: str
    message: str
    where: Optional[str]  #: an address, or a name relative to the checkpoint
    evidence: List[str]
    name: str  #: text for display
    letter: Optional[str]  #: an alias, such as L6
    silent: bool  #: stock DeepSpeed loads it silently
    means: Means
    remedy: Optional[str]  #: what repairs it, in words
    no_remedy: Optional[str]  #: why there is no repair
    threads: Optional[str]  #: public reports of the problem
    fix: Optional[Fix]


@dataclass(frozen=True)
class ErrorFields(Answer):
    """Why a path cannot be read."""

    code: str
    message: str
    path: Optional[str]
    hint: Optional[str]


@dataclass(frozen=True)
class CheckResult(Answer):
    """The answer for one path. `error` is set if it cannot be read; then nothing else is."""

    path: str  #: as it was given
    checkpoint: Optional[str] = None  #: the folder that relative names start from
    tag: Optional[str] = None
    stopped: Optional[bool] = None
    depth: Optional[str] = None  #: as requested, or chosen by auto
    not_read: Optional[NotRead] = None
    seconds: Optional[CheckSeconds] = None  #: per tier that was checked
    findings: Optional[List[CheckFinding]] = None  #: most important first
    error: Optional[ErrorFields] = None


@dataclass(frozen=True)
class Diagnosis(Answer):
    """A finding that `check` can report."""

    code: str
    depth: str  #: the minimum depth that finds it
    severity: str  #: the worst severity of its findings
    repairs: bool  #: whether repair --fix CODE repairs it
    name: str  #: text for display
    letter: Optional[str]  #: an alias, such as L6
    silent: bool  #: stock DeepSpeed loads it silently
    means: Means
    remedy: Optional[str]  #: what repairs it, in words
    no_remedy: Optional[str]  #: why there is no repair
    threads: Optional[str]  #: public reports of the problem


@dataclass(frozen=True)
class CheckAnswer(Answer):
    """The findings of all paths."""

    depth: Optional[str] = None  #: the requested depth
    results: List[CheckResult] = field(default_factory=list)  #: one per path, in their order
    diagnoses: Optional[List[Diagnosis]] = None  #: with --list: all kinds of findings


@dataclass(frozen=True)
class VerifyAnswer(Answer):
    """Whether every byte is as the manifest and checksums say."""

    path: str  #: PATH as it was given
    checkpoint: str  #: the folder that relative paths start from
    tag: Optional[str]
    ok: bool
    manifest: bool
    files: int
    bytes: int
    fingerprint: Optional[str]
    fingerprint_version: int  #: of its definition; fingerprints of two versions are not comparable
    problems: List[Finding]
    compute: Compute  #: the compute device that was used, and why
    selected: Optional[str] = None  #: the file that PATH named
    against: Optional[str] = None
