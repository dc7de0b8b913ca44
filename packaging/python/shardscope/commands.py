# SPDX-License-Identifier: Apache-2.0
"""Functions for the commands of the program that answer with data or write.

Each function takes the command's long options as keywords, with `_` in place of `-`:
`sub_group_size=500_000_000`, `dry_run=True`, `allow=["state-missing"]`. Options that begin with `no-` are
negated: `verify=False`, `latest=False`. A list gives an option several times, a dictionary gives KEY=VALUE.
`from_` and `for_` stand for `--from` and `--for`. `shardscope COMMAND --help` describes all options. An
option that the command does not have raises ShardscopeError ("usage"), unless its value is the default.

Every function also takes `progress`, a function that is called with a `Progress` while it runs, and
`low_priority=True`, which lets other processes go first.
"""

import os
import warnings
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union

from .answers import (
    Answer,
    CheckAnswer,
    CleanAnswer,
    DiffAnswer,
    EmitAnswer,
    EnsureAnswer,
    FilesAnswer,
    Finding,
    FingerprintAnswer,
    InspectAnswer,
    JobsAnswer,
    LayoutAnswer,
    ParamsAnswer,
    PassedOver,
    PlanAnswer,
    ShowAnswer,
    SkeletonAnswer,
    StatsAnswer,
    TagsAnswer,
    VerifyAnswer,
    WriteAnswer,
)
from .errors import ShardscopeError
from .program import ProgressFunction, run

PathLike = Union[str, "os.PathLike[str]"]
Option = Union[None, bool, int, float, str, "os.PathLike[str]", Sequence[Any], Mapping[str, Any]]

T = TypeVar("T", bound=Answer)

_NEGATED = ("verify", "latest")
_NOT_NEGATED = {"ensure": ("verify",)}  # where the option is `--verify`
_JOINED = ("states", "for_")  # one value, separated by commas


def inspect(path: PathLike, progress: Optional[ProgressFunction] = None, **options: Option) -> InspectAnswer:
    """What a checkpoint is: kind, ZeRO stage, ranks, precision, step, param groups, findings."""
    return _call(InspectAnswer, "inspect", [path], progress, options)


def tags(run_folder: PathLike, progress: Optional[ProgressFunction] = None, **options: Option) -> TagsAnswer:
    """The tags of a run. `newest_complete` of the answer is the folder that a restart can use, or None."""
    return _call(TagsAnswer, "tags", [run_folder], progress, options)


class FallbackWarning(UserWarning):
    """A newer tag was passed over, because it is damaged or not complete."""


class MarkedWarning(UserWarning):
    """Parts of the tag no run saved: a repair made them, or they were written despite a finding."""


class ReshardWarning(UserWarning):
    """What a copy for another number of ranks changes for the run, such as a batch that does not divide."""


class ResumeFolder(str):
    """A folder to resume from, as text. `tag` is the tag in it; `passed_over` are newer tags that cannot be used, the
    newest first. `marks` are parts of the tag that no run saved; `newest_complete()` does not look for them."""

    tag: Optional[str]
    passed_over: List[PassedOver]
    marks: List[Finding]

    def __reduce__(self) -> Tuple[Type[str], Tuple[str]]:
        """Saved as plain text, so that a checkpoint in which it is saved needs no package to load."""
        return str, (str(self),)


def newest_complete(
    run_folder: PathLike,
    missing_ok: bool = False,
    progress: Optional[ProgressFunction] = None,
    **options: Option,
) -> Optional[ResumeFolder]:
    """The folder that a restart can use: the newest tag whose files are all there and contradict nothing.

    None if the folder has no such tag, as before the first save. A folder that does not exist raises ShardscopeError
    ("not-found"), unless `missing_ok`. Warns with FallbackWarning if it is not the newest tag. Older tags are not read.
    """
    answer = _of_run(TagsAnswer, "tags", run_folder, missing_ok, progress, {"newest_complete": True, **options})
    if answer is None:
        return None
    names = {one.folder: one.tag for one in answer.tags}
    passed_over = [
        PassedOver.from_json({"tag": one.tag, "why": one.why or ""})
        for one in reversed(answer.tags)
        if one.folder != answer.newest_complete
    ]
    return _resume_folder(answer.newest_complete, names.get(answer.newest_complete or ""), passed_over)


def ensure(
    run_folder: PathLike,
    progress: Optional[ProgressFunction] = None,
    missing_ok: bool = False,
    **options: Option,
) -> Optional[ResumeFolder]:
    """The folder that `world_size` ranks can load: the run, or a verified copy of its newest complete tag.

    The copy is made once; all processes may call this at once. None if the folder has no complete tag, as before the
    first save. A folder that does not exist raises ShardscopeError ("not-found"), unless `missing_ok`, and so do tags
    of which none can be used ("refused"): a training must not start from nothing by mistake. Warns with FallbackWarning
    if it is not the newest tag, with MarkedWarning if no run saved parts of it, and with ReshardWarning for what a
    copy changes.
    """
    answer = _of_run(EnsureAnswer, "ensure", run_folder, missing_ok, progress, options)
    if answer is None:
        return None
    for warning in answer.warnings:
        warnings.warn(warning.message, ReshardWarning, stacklevel=2)
    return _resume_folder(answer.folder, answer.tag, answer.passed_over, answer.marks)


def params(path: PathLike, progress: Optional[ProgressFunction] = None, **options: Option) -> ParamsAnswer:
    """The parameters with shape, dtype, group and states."""
    return _call(ParamsAnswer, "params", [path], progress, options)


def layout(path: PathLike, progress: Optional[ProgressFunction] = None, **options: Option) -> LayoutAnswer:
    """Where everything is stored. With `rank`, `param` or `address`: its fragments or its location."""
    return _call(LayoutAnswer, "layout", [path], progress, options)


def files(path: PathLike, progress: Optional[ProgressFunction] = None, **options: Option) -> FilesAnswer:
    """The files with role, rank and status. With `records=True` also the records in them."""
    return _call(FilesAnswer, "files", [path], progress, options)


def stats(
    path: PathLike,
    parameters: Iterable[str] = (),
    progress: Optional[ProgressFunction] = None,
    **options: Option,
) -> StatsAnswer:
    """Statistics of these parameters or addresses; of all parameters if none is given."""
    return _call(StatsAnswer, "stats", [path, *parameters], progress, options)


def show(path: PathLike, address: str, progress: Optional[ProgressFunction] = None, **options: Option) -> ShowAnswer:
    """Values of a parameter or of one of its states, such as "norm.weight#exp_avg[0:8]"; all of it with `npy`."""
    return _call(ShowAnswer, "show", [path, address], progress, options)


def diff(
    left: PathLike, right: PathLike, progress: Optional[ProgressFunction] = None, **options: Option
) -> DiffAnswer:
    """Whether two checkpoints hold the same training state (`equal`), and probable causes if not.

    `not_compared` says what could not be compared; `equal` is then false.
    """
    return _call(DiffAnswer, "diff", [left, right], progress, options)


def fingerprint(
    path: PathLike, *more: PathLike, progress: Optional[ProgressFunction] = None, **options: Option
) -> FingerprintAnswer:
    """A digest of the training state that does not depend on ranks, ZeRO stage or file layout. Several paths are
    answers of the parts, for `combine=True`."""
    return _call(FingerprintAnswer, "fingerprint", [path, *more], progress, options)


def check(*paths: PathLike, progress: Optional[ProgressFunction] = None, **options: Option) -> CheckAnswer:
    """Looks for all known defects. A path that cannot be read has an `error` in its result, unless it is the
    only one."""
    return _call(CheckAnswer, "check", list(paths), progress, options)


def verify(path: PathLike, progress: Optional[ProgressFunction] = None, **options: Option) -> VerifyAnswer:
    """Reads every byte and compares it with the manifest and with checksums (`ok`)."""
    return _call(VerifyAnswer, "verify", [path], progress, options)


def reshard(
    source: PathLike,
    destination: PathLike,
    world_size: int,
    progress: Optional[ProgressFunction] = None,
    **options: Option,
) -> WriteAnswer:
    """Rewrites a checkpoint for another number of ranks, and another ZeRO stage with `stage`."""
    return _call(
        WriteAnswer, "reshard", [source, destination], progress, {"world_size": world_size, **options}
    )


def convert(
    source: PathLike,
    destination: PathLike,
    to: str,
    progress: Optional[ProgressFunction] = None,
    **options: Option,
) -> WriteAnswer:
    """Writes a universal checkpoint (`to="universal"`) or a distributed one of PyTorch (`to="dcp"`)."""
    return _call(WriteAnswer, "convert", [source, destination], progress, {"to": to, **options})


def export(
    source: PathLike, destination: PathLike, progress: Optional[ProgressFunction] = None, **options: Option
) -> WriteAnswer:
    """Writes weights, and other states with `states`, as safetensors or in another `format`."""
    return _call(WriteAnswer, "export", [source, destination], progress, options)


def repair(
    source: PathLike, destination: PathLike, progress: Optional[ProgressFunction] = None, **options: Option
) -> WriteAnswer:
    """Writes a repaired copy: `fix="rank-missing"`, or several codes in a list, or `set={"step": 100}`."""
    return _call(WriteAnswer, "repair", [source, destination], progress, options)


def skeleton(
    path: PathLike, output: PathLike, progress: Optional[ProgressFunction] = None, **options: Option
) -> SkeletonAnswer:
    """Writes a checkpoint without its values, a zip file that can be attached to a bug report."""
    return _call(SkeletonAnswer, "skeleton", [path, output], progress, options)


def plan(
    command: str,
    source: PathLike,
    destination: PathLike,
    output: PathLike,
    progress: Optional[ProgressFunction] = None,
    **options: Option,
) -> PlanAnswer:
    """Saves what "reshard", "convert", "export" or "repair" would do to the file `output`, for run_plan()."""
    words: Mapping[str, Option] = {"output": output, **options}
    return _call(PlanAnswer, f"plan {command}", [source, destination], progress, words)


def run_plan(
    file: PathLike,
    destination: Optional[PathLike] = None,
    progress: Optional[ProgressFunction] = None,
    **options: Option,
) -> WriteAnswer:
    """Does what a saved plan says, in the folder that it names or in another one. Raises ShardscopeError
    ("source-changed", "refused") if its source has changed."""
    paths = [file] if destination is None else [file, destination]
    return _call(WriteAnswer, "run", paths, progress, options)


def emit(
    plan: PathLike,
    file: str,
    to: int,
    progress: Optional[ProgressFunction] = None,
    **options: Option,
) -> EmitAnswer:
    """Writes one output file of a saved plan to an open descriptor, and nothing to the disk. `digest=True` adds what
    combine_emitted() needs."""
    return _call(EmitAnswer, "emit", [plan, file], progress, {"to": to, **options}, descriptors=[to])


def combine_emitted(
    plan: PathLike, answers: Iterable[PathLike], progress: Optional[ProgressFunction] = None, **options: Option
) -> EmitAnswer:
    """Checks that what all processes emitted is the plan's whole output: `missing` and `fingerprint`. `answers` are
    files with the JSON of answers."""
    return _call(EmitAnswer, "emit", [plan, *answers], progress, {"combine": True, **options})


def clean(
    folder: PathLike,
    remove: bool = False,
    progress: Optional[ProgressFunction] = None,
    **options: Option,
) -> CleanAnswer:
    """The work that interrupted jobs left in a folder. With `remove`, what is abandoned is removed."""
    return _call(CleanAnswer, "clean", [folder], progress, {"remove": remove, **options})


def jobs(host: str = "", **options: Option) -> JobsAnswer:
    """Commands that run as jobs of their own on a host (`[user@]host:`) or on this machine, and those that were
    interrupted. `stop`, `resume` and `forget` take the id of a job; then the answer has this job only."""
    return _call(JobsAnswer, "jobs", [host] if host else [], None, options)


def _of_run(
    answer: Type[T],
    command: str,
    run_folder: PathLike,
    missing_ok: bool,
    progress: Optional[ProgressFunction],
    options: Mapping[str, Option],
) -> Optional[T]:
    try:
        return _call(answer, command, [run_folder], progress, options)
    except ShardscopeError as error:
        if missing_ok and error.code == "not-found" and not os.path.lexists(run_folder):
            return None
        raise


def _resume_folder(
    folder: Optional[str], tag: Optional[str], passed_over: Sequence[PassedOver], marks: Sequence[Finding] = ()
) -> Optional[ResumeFolder]:
    if passed_over:
        newest = passed_over[0]
        warnings.warn(
            f"passed over the tag {newest.tag}: {newest.why}; "
            + (f"{folder} is older" if folder else "no tag is complete"),
            FallbackWarning,
            stacklevel=3,
        )
    if marks:
        warnings.warn(
            f"the tag {tag} is marked: parts of it no run saved, such as: {marks[0].message}",
            MarkedWarning,
            stacklevel=3,
        )
    if folder is None:
        return None
    out = ResumeFolder(folder)
    out.tag = tag
    out.passed_over = list(passed_over)
    out.marks = list(marks)
    return out


def _call(
    answer: Type[T],
    command: str,
    paths: Sequence[PathLike],
    progress: Optional[ProgressFunction],
    options: Mapping[str, Option],
    descriptors: Sequence[int] = (),
) -> T:
    words = command.split()
    for name, value in options.items():
        if name != "low_priority":
            words += option_words(command, name, value)
    low_priority = bool(options.get("low_priority"))
    data, _ = run(words, [os.fspath(path) for path in paths], progress, low_priority, descriptors)
    return answer.from_json(data)


def option_words(command: str, name: str, value: Option) -> List[str]:
    """An option as words of the command line."""
    option = "--" + name.rstrip("_").replace("_", "-")
    if name in _NEGATED and name not in _NOT_NEGATED.get(command, ()):
        return [] if value in (True, None) else [f"--no-{name}"]
    if value is None or value is False:
        return []
    if value is True:
        return [option]
    if isinstance(value, Mapping):
        value = [f"{key}={_text(item)}" for key, item in value.items()]
    if isinstance(value, (list, tuple, set, frozenset)):
        if name in _JOINED:
            return [option, ",".join(_text(item) for item in value)]
        return [word for item in value for word in (option, _text(item))]
    return [option, _text(value)]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(os.fspath(value)) if isinstance(value, os.PathLike) else str(value)
