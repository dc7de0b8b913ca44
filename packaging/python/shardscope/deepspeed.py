# SPDX-License-Identifier: Apache-2.0
"""Loads a checkpoint into a DeepSpeed engine of any number of ranks and any ZeRO stage, without writing a copy.

    from shardscope.deepspeed import load_checkpoint

    load_checkpoint(engine, "runs/llama")      # in place of engine.load_checkpoint("runs/llama")

Or for all engines of a process:

    import shardscope.deepspeed

    shardscope.deepspeed.install()

Where the checkpoint fits the engine, DeepSpeed loads it as ever. Else every rank gets the files that `shardscope
reshard` would write for it, one by one, in memory: DeepSpeed reads them in place of files on a disk.
"""

import contextlib
import ctypes
import functools
import io
import json
import logging
import os
import resource
import tempfile
import warnings
from collections import deque
from pathlib import Path
from typing import Any, Callable, Counter, Deque, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from . import frameworks
from .answers import InspectAnswer
from .commands import Option, ReshardWarning, inspect, plan
from .errors import ShardscopeError
from .server import Server, words_payload

logger = logging.getLogger(__name__)

PathLike = Union[str, "os.PathLike[str]"]
Loaded = Tuple[Optional[str], Optional[Dict[str, Any]]]

_AT_ONCE = 2  # files that a rank reads; each takes memory for buffers
_PAGE = os.sysconf("SC_PAGE_SIZE")
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
    `pp_layers` and `allow`; `root` and `donor` name more folders with parts of the checkpoint. `verify`: before DeepSpeed
    loads, one rank checks that what all ranks read is the whole training state, from undamaged files.

    Raises the same ShardscopeError on every rank, and leaves the engine as it was, if the checkpoint cannot be loaded
    into this engine, if a file is damaged, or if a process that reads one fails. All files are read before DeepSpeed
    begins to load.

    What fails while DeepSpeed loads leaves the engine partly loaded, as in `engine.load_checkpoint`: load again before
    training. When a rank ends or is interrupted, the other ranks get the error of torch.distributed, within the
    timeout of the process group. `engine.checkpoint_engine` is the one from before in each case.
    """
    arguments = dict(
        load_module_strict=load_module_strict,
        load_optimizer_states=load_optimizer_states,
        load_lr_scheduler_states=load_lr_scheduler_states,
        load_module_only=load_module_only,
        custom_load_fn=custom_load_fn,
    )
    ranks = _Ranks()
    with contextlib.ExitStack() as stack:
        folder = ranks.together(
            lambda: Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="shardscope-")))
        )
        target: _Target = ranks.together(lambda: _Target(engine, arguments))
        source = ranks.from_first(lambda: _plan(load_dir, tag, target, options, folder))
        if source is None or "stock" in source:
            return _stock(engine)(*(source["stock"] if source else (load_dir, tag)), **arguments)
        ranks.together(lambda: _warn(source["warnings"] if ranks.rank == 0 else ()))
        files: _Files = ranks.together(lambda: stack.enter_context(_Files(folder, source)))
        random_states = _random_states_file(load_dir, source, ranks)
        ranks.together(lambda: files.fetch(_loads(engine, files, target.with_optimizer) + random_states))
        if verify:
            answers = ranks.to_first(files.answers())
            ranks.from_first(lambda: files.check(answers, target.with_optimizer))
        files.end_reading()
        loaded: Loaded = ranks.together(lambda: files.load_with(engine, arguments), keeps_own=True)
        for name in random_states:
            frameworks.keep_random_states(load_dir, files.content(name))
    return loaded


def _warn(messages: Iterable[str]) -> None:
    """A filter may turn a warning into an exception, so it is given where all ranks wait for each other."""
    for message in messages:
        warnings.warn(message, ReshardWarning, stacklevel=5)


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
        frameworks.restore()


def _stock(engine: Any) -> Callable[..., Loaded]:
    if _stock_load is None:
        stock: Callable[..., Loaded] = engine.load_checkpoint
        return stock
    return functools.partial(_stock_load, engine)


class _Target:
    """What an engine can load."""

    def __init__(self, engine: Any, arguments: Mapping[str, Any]) -> None:
        import torch.distributed as dist

        self.stage = int(engine.zero_optimization_stage())
        self.ranks = dist.get_world_size() if dist.is_initialized() else 1
        self.tp = int(getattr(engine, "mp_world_size", 1) or 1)
        grid = getattr(engine, "grid", None)
        self.pp = int(grid.pipe_parallel_size) if grid is not None else 1
        if grid is not None:
            self.tp = int(grid.model_parallel_size)
        self.ep = 0
        if getattr(engine, "has_moe_layers", False):
            from deepspeed.utils import groups

            self.ep = int(groups._get_expert_parallel_world_size(groups._get_max_expert_size_name()))
        zero = engine._config.zero_config
        self.sub_group_size = int(zero.sub_group_size) if self.stage == 3 else 0
        self.bf16_optimizer = any(one.__name__ == "BF16_Optimizer" for one in type(engine.optimizer).__mro__)
        self.offloads_to_nvme = bool(getattr(engine.optimizer, "swap_optimizer", False))  # in any release
        self.universal = bool(engine.load_universal_checkpoint())
        self.with_optimizer = bool(arguments["load_optimizer_states"]) and not arguments["load_module_only"]
        # By their names in the plan's `must_stay_equal`.
        self.configured = {
            "bf16.enabled": bool(engine.bfloat16_enabled()),
            "fp16.enabled": bool(engine.fp16_enabled()),
            "zero_optimization.round_robin_gradients": bool(getattr(zero, "round_robin_gradients", False)),
            "zero_optimization.parameter_alignment": bool(getattr(zero, "parameter_alignment", False)),
        }
        self.offloads = getattr(zero, "offload_optimizer", None) is not None

    def refusal(self, source: InspectAnswer) -> Optional[ShardscopeError]:
        """Why it cannot load what `shardscope reshard` would write of a checkpoint."""
        stays = source.kind == "bf16" and source.zero_stage == self.stage  # else it becomes one of ZeRO
        if self.bf16_optimizer != stays:
            return _unsupported(
                "the engine has DeepSpeed's BF16_Optimizer, which loads only checkpoints of this optimizer"
                if self.bf16_optimizer
                else "the checkpoint is one of DeepSpeed's BF16_Optimizer, and the engine has another one in this stage",
                'ZeRO in stage 2 or 3 loads both; in stage 1 the optimizer follows from "grad_accum_dtype"',
            )
        if self.offloads_to_nvme:
            return _unsupported(
                "DeepSpeed loads an optimizer that is offloaded to NVMe by copying a folder of this number of ranks",
                "load without the offload, or write a copy: `shardscope reshard`",
            )
        if self.stage == 3 and not self.with_optimizer:
            return _unsupported(
                "without optimizer states DeepSpeed takes the weights of a ZeRO-3 checkpoint from elsewhere, or none",
                "load the optimizer states, too",
            )
        return None

    def difference(self, must_stay_equal: Mapping[str, str]) -> Optional[ShardscopeError]:
        """A setting of the engine that the plan's files do not fit."""
        for name, is_set in self.configured.items():
            wanted = must_stay_equal.get(name)
            if wanted is not None and (wanted.lower() == "true") != is_set:
                return _differs(f"the checkpoint is for a run with {name} {wanted}, and the engine has {str(is_set).lower()}")
        offload = must_stay_equal.get("zero_optimization.offload_optimizer")  # of Muon alone
        if offload is not None and offload.startswith("cpu") != self.offloads:
            return _differs(f"zero_optimization.offload_optimizer must be {offload}")
        return None

    def fits(self, source: InspectAnswer) -> bool:
        """Whether DeepSpeed loads this checkpoint itself, or says why not."""
        parallel = source.parallel
        if source.kind in _CONVERTED or (parallel.tp, parallel.pp) != (self.tp, self.pp):
            return False
        if self.ep != 0 and parallel.ep != self.ep:
            return False
        stages = [1 if stage == 2 else stage for stage in (source.zero_stage, self.stage)]  # these are the same form
        if stages[0] != stages[1]:
            return False
        is_partitioned = self.stage > 0 or self.bf16_optimizer
        if self.stage < 3 and (not is_partitioned or not self.with_optimizer):
            return True  # only files that all ranks share are read
        same_ranks = parallel.dp * parallel.tp * parallel.pp == self.ranks
        same_groups = self.stage != 3 or source.sub_group_size in (None, self.sub_group_size)
        return same_ranks and same_groups and self.bf16_optimizer == (source.kind == "bf16")

    def options(self) -> Dict[str, Option]:
        out: Dict[str, Option] = {"world_size": self.ranks, "stage": self.stage, "tp": self.tp, "pp": self.pp}
        if self.ep:
            out["ep"] = self.ep
        if self.stage == 3:
            out["sub_group_size"] = self.sub_group_size
        return out


def _unsupported(message: str, hint: str) -> ShardscopeError:
    return ShardscopeError("unsupported", message, None, hint, 4)


def _differs(message: str) -> ShardscopeError:
    return ShardscopeError("refused", message, None, "set it as in the run that saved the checkpoint", 6)


def _plan(
    load_dir: PathLike, tag: Optional[str], target: _Target, options: Mapping[str, Option], folder: Path
) -> Optional[Dict[str, Any]]:
    """On the first rank: what all ranks need to emit files. None if DeepSpeed loads the checkpoint itself, or finds
    nothing; its arguments, if they have to be others."""
    if target.universal:
        return None
    pointers = [os.path.join(load_dir, name) for name in ("latest", "latest_universal")]
    may_be_absent = tag is None and not any(map(os.path.isfile, pointers))  # as before the first save
    elsewhere: Dict[str, Option] = {name: options[name] for name in ("root", "donor") if options.get(name)}
    opened: Dict[str, Option] = {"tag": tag, **elsewhere}
    try:
        source = inspect(load_dir, None, **opened)
    except ShardscopeError as error:
        if may_be_absent and error.code in ("not-found", "not-a-checkpoint"):
            return None
        raise
    if may_be_absent and source.tag is None and source.kind != "dcp":  # which has no tag
        return None
    # Swapped states are in files that DeepSpeed finds only with the same offload.
    is_swapped = os.path.isdir(os.path.join(source.checkpoint, "offloaded_tensors"))
    is_plain = not any(value for name, value in options.items() if name != "allow")
    if is_plain and target.fits(source) and is_swapped <= target.offloads_to_nvme:
        is_tag = tag is None and os.path.realpath(load_dir) == os.path.realpath(source.checkpoint)
        if is_tag and source.tag == os.path.basename(os.path.realpath(load_dir)):
            return {"stock": (os.path.dirname(os.path.realpath(load_dir)), source.tag)}  # DeepSpeed wants a run folder
        return None
    refusal = target.refusal(source)
    if refusal is not None:
        raise refusal
    saved = folder / "plan.json"
    wanted: Dict[str, Option] = {**target.options(), **options, "tag": tag if "donor" in elsewhere else source.tag}
    answer = plan("reshard", load_dir, folder / "out", saved, None, **wanted)
    difference = target.difference(answer.plan.must_stay_equal)
    if difference is not None:
        raise difference
    return {
        "plan": saved.read_text(encoding="utf-8"),
        "tag": answer.plan.target,
        "files": [file.path for file in answer.plan.files],
        "folder": source.checkpoint,
        "ranks": source.parallel.dp * source.parallel.tp * source.parallel.pp,
        "warnings": [warning.message for warning in answer.plan.warnings],
    }


class _Files:
    """The planned files of a checkpoint, each in memory from when it is fetched until DeepSpeed has loaded it. Their
    names are in a folder, too, as empty files, because DeepSpeed looks which exist."""

    def __init__(self, folder: Path, source: Mapping[str, Any]) -> None:
        self._plan: bytes = source["plan"].encode()
        self._tag: str = source["tag"]
        self._source: str = source["folder"]
        self._stubs = folder / "stubs"
        self._names = set(source["files"])
        self._server: Optional[Server] = None
        self._held = 0  # by the server: the plan
        self._nowhere = -1
        self._loads: Counter[str] = Counter()  # how often DeepSpeed will still load it
        self._open: Dict[str, int] = {}
        self._open_limits: Optional[Tuple[int, int]] = None
        self._answers: Dict[str, Mapping[str, Any]] = {}
        for name in source["files"]:
            path = self._stubs / self._tag / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    def __enter__(self) -> "_Files":
        return self

    def __exit__(self, *_: object) -> None:
        self.end_reading()
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()
        if self._open_limits is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, self._open_limits)

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

    def fetch(self, loads: List[str]) -> None:
        """All that DeepSpeed will load, each name as often as it does."""
        self._loads = Counter(loads)
        self._allow_open(len(self._loads))
        self._read(list(self._loads))

    def _read(self, names: List[str]) -> None:
        """Reads planned files into memory."""
        self.end_reading()
        for name in names:
            self._open[name] = _memory_file()
        self._nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        self._server = Server([*(self._open[name] for name in names), self._nowhere], jobs=_AT_ONCE)
        self._held = self._server.send("plan", self._plan)
        self._server.wait(self._held)
        self._emit({name: self._open[name] for name in names})

    def _emit(self, to: Mapping[str, int]) -> None:
        """Lets the server write planned files to these descriptors, and keeps its answers."""
        assert self._server is not None
        under_way: Deque[Tuple[str, int]] = deque()
        for name, descriptor in to.items():
            under_way.append((name, self._server.emit(self._held, name, descriptor)))
            if len(under_way) > _AT_ONCE:
                self._keep_answer(*under_way.popleft())
        while under_way:
            self._keep_answer(*under_way.popleft())

    def _keep_answer(self, name: str, number: int) -> None:
        assert self._server is not None
        self._answers[name] = json.loads(self._server.wait(number)[1])

    def end_reading(self) -> None:
        """Ends the server. What is read later starts it again."""
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._nowhere >= 0:
            os.close(self._nowhere)
            self._nowhere = -1

    def content(self, name: str) -> bytes:
        descriptor = self._descriptor(name)
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0)

    def _allow_open(self, count: int) -> None:
        """A rank may have thousands of files of experts, and processes are often limited to 1024."""
        soft, hard = limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = soft + count if hard == resource.RLIM_INFINITY else min(soft + count, hard)
        if soft != resource.RLIM_INFINITY and count > soft // 4 and wanted > soft:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            self._open_limits = limits

    def _descriptor(self, name: str) -> int:
        if name not in self._open:
            self._read([name])
        return self._open[name]

    def load(self, name: str, map_location: Any) -> Any:
        """Mapped where DeepSpeed only looks at a file that it loads later. Else what it keeps of a mapping, such as
        states of the optimizer, would keep all of it in memory."""
        import torch

        descriptor = self._descriptor(name)
        self._loads[name] -= 1
        is_zip = os.pread(descriptor, 2, 0) == b"PK"  # not torch's form of before
        if self._loads[name] != 0:
            path = f"/proc/self/fd/{descriptor}"
            is_look = is_zip and self._loads[name] > 0
            return torch.load(path, map_location=map_location, weights_only=False, mmap=is_look)
        with io.FileIO(self._open.pop(name)) as file:
            file.seek(0)  # it was written through this descriptor
            last = _Drained(file) if is_zip else file
            return torch.load(last, map_location=map_location, weights_only=False)

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
        """Whether what all ranks together read is the whole state, from undamaged files. On the first rank, after
        fetch()."""
        assert self._server is not None
        different = {(answer["file"], answer["digest"]): answer for rank in answers for answer in rank}
        of_all = list(different.values())
        known = {answer["file"] for answer in of_all}
        unread = sorted(self._names - known) if whole else []  # DeepSpeed does not read every file
        self._emit(dict.fromkeys(unread, self._nowhere))
        of_all += [self._answers.pop(name) for name in unread]
        texts = words_payload([json.dumps(answer) for answer in of_all])
        _, found = self._server.wait(self._server.send("combine", texts, of=self._held))
        fingerprint = json.loads(found).get("fingerprint")
        if fingerprint is not None:
            logger.info("the training state that was read is whole: %s", fingerprint)


def _memory_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("shardscope", os.MFD_CLOEXEC)
    return os.open("/dev/shm", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)  # builds for old systems lack it


class _Drained(io.RawIOBase):
    """A file in memory that is read once: it becomes smaller while what is read from it is stored elsewhere."""

    PIECE = 64 << 20
    KEPT = 1 << 20  # shorter reads are of headers and the directory, which are read again

    def __init__(self, file: io.FileIO) -> None:
        self._file = file
        self._gone: List[Tuple[int, int]] = []
        self._free = getattr(ctypes.CDLL(None, use_errno=True), "fallocate", None)  # of Linux alone

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._file.fileno()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: Any) -> int:
        view, done = memoryview(buffer).cast("B"), 0
        while done < len(view):
            begin = self._file.tell()
            if any(begin < gone[1] and begin + len(view) - done > gone[0] for gone in self._gone):
                raise OSError("a record in memory is read twice")  # its bytes are zero
            count = self._file.readinto(view[done : done + self.PIECE])
            if not count:
                break
            done += count
            if len(view) > self.KEPT:
                self._drop(begin, begin + count)
        return done

    def _drop(self, begin: int, end: int) -> None:
        begin, end = -(-begin // _PAGE) * _PAGE, end // _PAGE * _PAGE
        keeps_size, punches = 1, 2
        if self._free is None or begin >= end:
            return
        if self._free(self.fileno(), keeps_size | punches, ctypes.c_int64(begin), ctypes.c_int64(end - begin)) == 0:
            self._gone.append((begin, end))


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


def _loads(engine: Any, files: _Files, with_optimizer: bool) -> List[str]:
    """The files that DeepSpeed loads on this rank, each as often as it does. Those that are not found here, because
    another release of DeepSpeed has other names for what is asked below, are emitted when it loads them."""
    at = (files.stubs, files.tag)

    def model() -> List[str]:  # _load_checkpoint() and SDLoaderBase.load()
        found = engine._get_all_ckpt_names(*at)
        is_first = hasattr(engine.module, "ckpt_layer_path_list") and len(found) != engine.mp_world_size
        return [found[0], found[0] if is_first else engine._get_ckpt_name(*at)]  # it looks at the first one

    def layers() -> List[str]:  # PipelineModule.load_state_dir()
        module, out = engine.module, []
        for index, layer in enumerate(getattr(module, "forward_funcs", ())):
            if hasattr(layer, "load_state_dict"):
                slices = module.ckpt_layer_path_list(os.path.join(*at), index)
                own = module._grid.get_slice_parallel_rank()
                out += [slices[0], slices[own if own < len(slices) else 0]]
        return out

    def experts() -> List[str]:  # load_moe_state_dict()
        from deepspeed.utils import groups

        out: List[str] = []
        layers = [one for one in engine.module.modules() if _group_of_experts(one) is not None]
        for number, layer in enumerate(layers):
            first = groups._get_expert_parallel_rank(_group_of_experts(layer)) * layer.num_local_experts
            for expert in range(first, first + layer.num_local_experts):
                out.append(engine._get_expert_ckpt_name(at[0], number, expert, at[1], engine.mpu))
        return out

    def optimizer() -> List[str]:  # _load_zero_checkpoint(), and without ZeRO _load_checkpoint()
        if not engine.zero_optimization():
            from deepspeed.utils import groups

            rank = groups._get_expert_parallel_rank(groups._get_max_expert_size_name())
            return [engine._get_optimizer_ckpt_name(*at, rank)]
        if not engine.zero_elastic_checkpoint():
            return [engine._get_zero_ckpt_name(*at)]
        slice_rank = 0 if engine.mpu is None else engine.mpu.get_model_parallel_rank()
        ranks, is_bf16 = engine.seq_dp_world_size, engine.bfloat16_enabled()
        return list(engine._get_mp_rank_zero_checkpoint_names(*at, slice_rank, ranks, is_bf16))

    paths: List[str] = []
    for find in [model, layers, experts, *([optimizer] if with_optimizer else [])]:
        with contextlib.suppress(Exception):
            paths += find()
    names = [files.name_of(path) for path in paths]
    return [name for name in names if name is not None]


def _group_of_experts(module: Any) -> Optional[str]:
    """The name of its expert-parallel group, if a module is a layer of experts."""
    kind = type(module)
    names = {one.__name__ for one in kind.__mro__ if one.__module__.startswith("deepspeed.")}
    if "MoE" in names:
        return str(module.expert_group_name)
    return str(module.ep_group_name) if "AutoEPMoELayer" in names else None


def _random_states_file(load_dir: PathLike, source: Mapping[str, Any], ranks: "_Ranks") -> List[str]:
    if _stock_load is None:  # no framework called
        return []
    return frameworks.random_states_file(load_dir, source["files"], source["ranks"], ranks.rank, ranks.count)


class _Ranks:
    """The processes of the run, which must all do the same, or raise the same."""

    def __init__(self) -> None:
        import torch.distributed as dist

        self._dist = dist
        self.rank = dist.get_rank() if dist.is_initialized() else 0
        self.count = dist.get_world_size() if dist.is_initialized() else 1

    def together(self, work: Callable[[], Any], keeps_own: bool = False) -> Any:
        """Does something on each rank. An error of one of them is raised on all; `keeps_own`: where it happened, as it is.

        Not so KeyboardInterrupt and SystemExit: a rank that is to end does not wait for the others.
        """
        own: Optional[Exception] = None
        value = error = None
        try:
            value = work()
        except Exception as raised:
            own, error = raised, _fields_of(raised)
        errors = [error] * self.count
        if self.count > 1:
            try:
                self._dist.all_gather_object(errors, error)
            except Exception as lost:  # another rank ended
                raise own or lost
        first = next((one for one in errors if one is not None), None)
        if own is not None and keeps_own:
            raise own
        if first is not None:
            raise ShardscopeError(**first) from own
        return value

    def from_first(self, work: Callable[[], Any]) -> Any:
        """What the first rank's work results in; its error is raised on all."""
        outcome: List[Any] = [None, None]
        own: Optional[Exception] = None
        if self.rank == 0:
            try:
                outcome[0] = work()
            except Exception as raised:
                own, outcome[1] = raised, _fields_of(raised)
        if self.count > 1:
            self._dist.broadcast_object_list(outcome, src=0)
        if outcome[1] is not None:
            raise ShardscopeError(**outcome[1]) from own
        return outcome[0]

    def to_first(self, value: Any) -> List[Any]:
        """The values of all ranks, on the first one."""
        if self.count == 1:
            return [value]
        out = [None] * self.count if self.rank == 0 else None
        self._dist.gather_object(value, out, dst=0)
        return out or []


def _fields_of(error: Exception) -> Dict[str, Any]:
    if isinstance(error, ShardscopeError):
        return dict(vars(error))
    return {"code": "internal", "message": f"{type(error).__name__}: {error}"}
