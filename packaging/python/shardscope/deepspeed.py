# SPDX-License-Identifier: Apache-2.0
"""Loads a checkpoint into a DeepSpeed engine of any number of ranks and any ZeRO stage, without writing a copy.

    from shardscope.deepspeed import load_checkpoint

    load_checkpoint(engine, "runs/llama")      # in place of engine.load_checkpoint("runs/llama")

Or for a whole process, so that frameworks use it, too:

    import shardscope.deepspeed

    shardscope.deepspeed.install()

Where the checkpoint fits the engine, DeepSpeed loads it as ever. Else every rank gets the files that `shardscope
reshard` would write for it, one by one, in memory: DeepSpeed reads them in place of files on a disk.
"""

import contextlib
import functools
import json
import logging
import os
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from .answers import InspectAnswer
from .commands import Option, combine_emitted, emit, inspect, plan
from .errors import ShardscopeError

logger = logging.getLogger(__name__)

PathLike = Union[str, "os.PathLike[str]"]
Loaded = Tuple[Optional[str], Optional[Dict[str, Any]]]

_ARCHIVE = b"PK\x03\x04"
_CONVERTED = ("universal", "dcp", "weights", "swap")

_stock_load: Optional[Callable[..., Loaded]] = None


def load_checkpoint(
    engine: Any,
    load_dir: PathLike,
    tag: Optional[str] = None,
    load_module_strict: bool = True,
    load_optimizer_states: bool = True,
    load_lr_scheduler_states: bool = True,
    load_module_only: bool = False,
    custom_load_fn: Optional[Callable[..., Any]] = None,
    *,
    verify: bool = True,
    **options: Option,
) -> Loaded:
    """As `engine.load_checkpoint`, from a checkpoint of any number of ranks and stage. All ranks must call it.

    `options` are those of `shardscope reshard` that no file holds, such as `optimizer_option`, `patterns`, `tie`,
    `pp_layers` and `allow`; `root` names more folders with files of the checkpoint. `verify`: when all ranks have
    loaded, one of them checks that what was loaded is the whole training state, from undamaged files.

    Raises ShardscopeError on every rank, before anything in the engine is changed, if the checkpoint cannot be loaded.
    """
    arguments = dict(
        load_module_strict=load_module_strict,
        load_optimizer_states=load_optimizer_states,
        load_lr_scheduler_states=load_lr_scheduler_states,
        load_module_only=load_module_only,
        custom_load_fn=custom_load_fn,
    )
    ranks = _Ranks()
    target = _Target(engine)
    with contextlib.ExitStack() as stack:
        made = stack.enter_context(tempfile.TemporaryDirectory(prefix="shardscope-"))
        saved = Path(made) / "plan.json"
        source = ranks.from_first(lambda: _plan(load_dir, tag, target, arguments, options, saved))
        if source is None:
            return _stock(engine)(load_dir, tag, **arguments)
        files = stack.enter_context(_Files(Path(made), source, ranks.rank))
        ranks.together(lambda: files.fetch(_own_files(engine, files)))
        loaded = files.load_with(engine, arguments)
        if verify:
            whole = load_optimizer_states and not load_module_only
            ranks.from_first(lambda answers: files.check(answers, whole), files.answers())
    return loaded


def install() -> None:
    """Makes `load_checkpoint` of every engine in this process do the same. Again has no effect."""
    global _stock_load
    from deepspeed.runtime.engine import DeepSpeedEngine

    if _stock_load is None:
        _stock_load = DeepSpeedEngine.load_checkpoint
        DeepSpeedEngine.load_checkpoint = load_checkpoint


def uninstall() -> None:
    """Takes install() back."""
    global _stock_load
    from deepspeed.runtime.engine import DeepSpeedEngine

    if _stock_load is not None:
        DeepSpeedEngine.load_checkpoint = _stock_load
        _stock_load = None


def _stock(engine: Any) -> Callable[..., Loaded]:
    if _stock_load is None:
        stock: Callable[..., Loaded] = engine.load_checkpoint
        return stock
    return functools.partial(_stock_load, engine)


class _Target:
    """What an engine can load."""

    def __init__(self, engine: Any) -> None:
        import torch.distributed as dist

        self.stage = int(engine.zero_optimization_stage())
        self.ranks = dist.get_world_size()
        self.tp = int(getattr(engine, "mp_world_size", 1) or 1)
        grid = getattr(engine, "grid", None)
        self.pp = int(grid.pipe_parallel_size) if grid is not None else 1
        if grid is not None:
            self.tp = int(grid.model_parallel_size)
        self.ep = 0
        if getattr(engine, "has_moe_layers", False):
            from deepspeed.utils import groups

            self.ep = int(groups._get_expert_parallel_world_size(groups._get_max_expert_size_name()))
        self.sub_group_size = int(engine._config.zero_config.sub_group_size) if self.stage == 3 else 0
        self.bf16_optimizer = any(one.__name__ == "BF16_Optimizer" for one in type(engine.optimizer).__mro__)
        self.offloads_to_nvme = bool(engine.zero_nvme_offload_optimizer())
        self.universal = bool(engine.load_universal_checkpoint())

    def refusal(self, source: InspectAnswer, arguments: Mapping[str, Any]) -> Optional[ShardscopeError]:
        """Why it cannot load what `shardscope reshard` would write of a checkpoint."""
        stays = source.kind == "bf16" and source.zero_stage == self.stage  # else it becomes one of ZeRO
        if self.bf16_optimizer != stays:
            return ShardscopeError(
                "unsupported",
                "the engine has DeepSpeed's BF16_Optimizer, which loads only checkpoints of this optimizer"
                if self.bf16_optimizer
                else "the checkpoint is one of DeepSpeed's BF16_Optimizer, and the engine has another one in this stage",
                None,
                'ZeRO in stage 2 or 3 loads both; in stage 1 the optimizer follows from "grad_accum_dtype"',
                4,
            )
        if self.offloads_to_nvme:
            return ShardscopeError(
                "unsupported",
                "DeepSpeed loads an optimizer that is offloaded to NVMe by copying a folder of this number of ranks",
                None,
                "load without the offload, or write a copy: `shardscope reshard`",
                4,
            )
        if self.stage == 3 and not arguments["load_optimizer_states"]:
            return ShardscopeError(
                "unsupported",
                "without optimizer states DeepSpeed reads the files of a ZeRO-3 checkpoint past the engine",
                None,
                "load the optimizer states too, or write a copy: `shardscope reshard`",
                4,
            )
        return None

    def fits(self, source: InspectAnswer) -> bool:
        """Whether DeepSpeed loads this checkpoint itself."""
        if self.universal:
            return True  # by its own loader, or refused there
        parallel = source.parallel
        if parallel is None or source.zero_stage is None or not source.supported:
            return False
        same_ranks = (parallel.dp * parallel.tp * parallel.pp, parallel.tp, parallel.pp) == (
            self.ranks,
            self.tp,
            self.pp,
        )
        same_experts = self.ep == 0 or parallel.ep == self.ep
        same_groups = self.stage != 3 or source.sub_group_size in (None, self.sub_group_size)
        same_kind = source.kind not in _CONVERTED and self.bf16_optimizer == (source.kind == "bf16")
        return same_ranks and same_experts and same_groups and same_kind and source.zero_stage == self.stage

    def options(self) -> Dict[str, Option]:
        out: Dict[str, Option] = {"world_size": self.ranks, "stage": self.stage, "tp": self.tp, "pp": self.pp}
        if self.ep:
            out["ep"] = self.ep
        if self.stage == 3:
            out["sub_group_size"] = self.sub_group_size
        return out


def _plan(
    load_dir: PathLike,
    tag: Optional[str],
    target: _Target,
    arguments: Mapping[str, Any],
    options: Mapping[str, Option],
    saved: Path,
) -> Optional[Dict[str, Any]]:
    """On the first rank: what all ranks need to emit files. None if DeepSpeed loads the checkpoint itself."""
    source = inspect(load_dir, None, tag=tag, root=options.get("root"))
    if target.fits(source):
        return None
    refusal = target.refusal(source, arguments)
    if refusal is not None:
        raise refusal
    wanted: Dict[str, Option] = {**target.options(), **options, "tag": source.tag}
    answer = plan("reshard", load_dir, saved.with_name("out"), saved, None, **wanted)
    return {
        "plan": saved.read_text(encoding="utf-8"),
        "tag": answer.plan.target,
        "files": [file.path for file in answer.plan.files],
        "folder": os.path.join(os.fspath(load_dir), source.tag or ""),
    }


class _Files:
    """The planned files of a checkpoint, each in memory once it is asked for. Their names are in a folder, too, as
    empty files, because DeepSpeed looks which exist."""

    def __init__(self, folder: Path, source: Mapping[str, Any], rank: int) -> None:
        self._folder = folder
        self._plan = folder / "plan.json"
        self._plan.write_text(source["plan"], encoding="utf-8")
        self._tag: str = source["tag"]
        self._source: str = source["folder"]
        self._rank = rank
        self._stubs = folder / "stubs"
        self._names = set(source["files"])
        self._open: Dict[str, int] = {}
        self._answers: Dict[str, Mapping[str, Any]] = {}
        for name in source["files"]:
            path = self._stubs / self._tag / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    def __enter__(self) -> "_Files":
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()

    @property
    def stubs(self) -> str:
        return str(self._stubs)

    @property
    def tag(self) -> str:
        return self._tag

    def name_of(self, path: PathLike) -> Optional[str]:
        """The planned file that this stub stands for."""
        name = os.path.relpath(os.fspath(path), self._stubs / self._tag)
        return name if name in self._names else None

    def fetch(self, names: List[str]) -> None:
        for name in names:
            self._descriptor(name)

    def _descriptor(self, name: str) -> int:
        if name not in self._open:
            descriptor = os.memfd_create("shardscope", os.MFD_CLOEXEC)
            try:
                answer = emit(self._plan, name, descriptor, digest=True)
            except BaseException:
                os.close(descriptor)
                raise
            self._open[name] = descriptor
            self._answers[name] = answer.raw
        return self._open[name]

    def load(self, name: str, map_location: Any) -> Any:
        import torch

        descriptor = self._descriptor(name)
        is_archive = os.pread(descriptor, len(_ARCHIVE), 0) == _ARCHIVE
        return torch.load(
            f"/proc/self/fd/{descriptor}", map_location=map_location, weights_only=False, mmap=is_archive or None
        )

    def load_with(self, engine: Any, arguments: Mapping[str, Any]) -> Loaded:
        """Lets DeepSpeed load them."""
        inner = engine.checkpoint_engine
        engine.checkpoint_engine = _CheckpointEngine(inner, self)
        try:
            path, client_state = _stock(engine)(self.stubs, self._tag, **arguments)
        finally:
            engine.checkpoint_engine = inner
        if path is not None:
            path = os.path.join(self._source, os.path.relpath(path, self._stubs / self._tag))
        return path, client_state

    def answers(self) -> List[Mapping[str, Any]]:
        return list(self._answers.values())

    def check(self, answers: List[List[Mapping[str, Any]]], whole: bool) -> None:
        """Whether all ranks together loaded the whole state. DeepSpeed does not read every file of it."""
        of_all = [answer for rank in answers for answer in rank]
        known = {answer["file"] for answer in of_all}
        with open(os.devnull, "wb") as nowhere:
            for name in sorted(self._names - known) if whole else ():
                of_all.append(emit(self._plan, name, nowhere.fileno(), digest=True).raw)
        paths = []
        for number, answer in enumerate(of_all):
            paths.append(self._folder / f"emitted-{number}.json")
            paths[-1].write_text(json.dumps(answer), encoding="utf-8")
        found = combine_emitted(self._plan, paths)
        if found.fingerprint is not None:
            logger.info("resumed state verified: %s", found.fingerprint)


class _CheckpointEngine:
    """A checkpoint engine that takes planned files from memory, and does all else as the one that it stands for."""

    def __init__(self, inner: Any, files: _Files) -> None:
        self._inner = inner
        self._files = files

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def load(self, path: PathLike, map_location: Any = None) -> Any:
        name = self._files.name_of(path)
        if name is None:
            return self._inner.load(path, map_location=map_location)
        return self._files.load(name, map_location)


def _own_files(engine: Any, files: _Files) -> List[str]:
    """Those that every rank loads first: its model file and its optimizer file. Others are emitted when DeepSpeed asks
    for them."""
    out = []
    for method in ("_get_ckpt_name", "_get_zero_ckpt_name"):
        try:
            name = files.name_of(getattr(engine, method)(files.stubs, files.tag))
        except Exception:  # another release: then it is emitted later
            continue
        if name is not None:
            out.append(name)
    return out


class _Ranks:
    """The processes of the run, which must all do the same, or raise the same."""

    def __init__(self) -> None:
        import torch.distributed as dist

        self._dist = dist
        self.rank = dist.get_rank() if dist.is_initialized() else 0
        self._count = dist.get_world_size() if dist.is_initialized() else 1

    def together(self, work: Callable[[], None]) -> None:
        """Does something on each rank. An error of one of them is raised on all."""
        for error in self._gather(_outcome(work)[1]):
            if error is not None:
                raise _error_from(error)

    def from_first(self, work: Callable[..., Any], *share: Any) -> Any:
        """What the first rank's work results in; its error is raised on all. It gets what every rank shares."""
        gathered = [self._gather(each) for each in share]
        outcome = [_outcome(lambda: work(*gathered)) if self.rank == 0 else (None, None)]
        if self._count > 1:
            self._dist.broadcast_object_list(outcome, src=0)
        value, error = outcome[0]
        if error is not None:
            raise _error_from(error)
        return value

    def _gather(self, value: Any) -> List[Any]:
        out = [value] * self._count
        if self._count > 1:
            self._dist.all_gather_object(out, value)
        return out


def _outcome(work: Callable[[], Any]) -> Tuple[Any, Optional[Dict[str, Any]]]:
    try:
        return work(), None
    except ShardscopeError as error:
        return None, dict(vars(error))
    except Exception as error:
        return None, {"code": "internal", "message": f"{type(error).__name__}: {error}"}


def _error_from(fields: Mapping[str, Any]) -> ShardscopeError:
    return ShardscopeError(**fields)
