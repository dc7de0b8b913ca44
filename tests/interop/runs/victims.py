# SPDX-License-Identifier: Apache-2.0
"""Ranks that load a checkpoint repeatedly by shardscope.deepspeed, until the caller kills one of them, or of their
readers."""

import faulthandler
import gc
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from compare import live_state
from runs import live, ranks
from runs.setups import Setup

LONG_SECONDS = 8
IDLE, PLANS, DEEPSPEED_LOADS, DEEPSPEED_HAS_LOADED, ENDED = range(5)


@dataclass
class Outcome:
    """What one load was for one rank."""
    error: tuple = ()  # class, code and text
    begun: bool = False  # DeepSpeed had begun to load
    changed: tuple = ()  # what is not as before the load
    wrong: tuple = ()  # what is not as after a load that nothing disturbed
    same_checkpoint_engine: bool = True
    left: tuple = ()  # what the load left: temporary files, files in memory
    seconds: float = 0.0


def build(setup, rank, world):
    """An engine, and what trains it for one step."""
    if isinstance(setup, Setup):
        from runs.training import build_engine, train
        engine = build_engine(setup, world, seed=99)
        return engine, lambda engine, step: train(engine, rank, world, step, 1, shape=setup.shape)
    from runs import parallel_training
    engine = parallel_training.build_engine(setup, world, seed=99)
    return engine, lambda engine, step: parallel_training.train(engine, setup, rank, world, step, 1)


def _left(folder):
    held = [os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")
            if os.path.lexists(f"/proc/self/fd/{name}")]
    return tuple(os.listdir(folder)) + tuple(target for target in held if "memfd:shardscope" in target)


class _Rank:

    def __init__(self, rank, world, setup, source, temporary, phases, pipe):
        self.rank, self.source, self.temporary, self.phases, self.pipe = rank, source, temporary, phases, pipe
        self.engine, self.train = build(setup, rank, world)
        self.expected, self.steps = None, 0
        stock = self.engine.load_checkpoint

        def load_in_deepspeed(*arguments, **options):
            phases[rank] = DEEPSPEED_LOADS
            with live.without_program():
                out = stock(*arguments, **options)
            phases[rank] = DEEPSPEED_HAS_LOADED
            return out

        self.engine.load_checkpoint = load_in_deepspeed

    def serve(self):
        signal.signal(signal.SIGINT, self.interrupt)
        self.step()
        while True:
            self.pipe.send("ready")
            {"load": self.load, "step": self.step}[self.pipe.recv()]()

    def step(self):
        """After it the state is not the checkpoint's."""
        self.train(self.engine, self.steps)
        self.steps += 1

    def interrupt(self, *_):
        if IDLE < self.phases[self.rank] < ENDED:
            raise KeyboardInterrupt

    def load(self):
        from shardscope import ShardscopeError
        from shardscope.deepspeed import load_checkpoint
        out, engine = Outcome(), self.engine
        before, inner = live_state.own_state(engine, self.rank), engine.checkpoint_engine
        self.pipe.send("set")
        self.pipe.recv()
        self.phases[self.rank] = PLANS
        began = time.monotonic()
        faulthandler.dump_traceback_later(LONG_SECONDS)  # into the log
        try:
            load_checkpoint(engine, self.source)
        except ShardscopeError as error:
            out.error = ("ShardscopeError", error.code, str(error))
        except (Exception, KeyboardInterrupt) as error:  # of torch.distributed, or of this rank alone
            out.error = (type(error).__name__, None, str(error))
        out.seconds = time.monotonic() - began
        faulthandler.cancel_dump_traceback_later()
        out.begun = self.phases[self.rank] >= DEEPSPEED_LOADS
        self.phases[self.rank] = ENDED
        after = live_state.own_state(engine, self.rank)
        if not out.error and self.expected is None:
            self.expected = after
        out.changed = tuple(live_state.differences(before, after))
        out.wrong = tuple(live_state.differences(self.expected, after)) if self.expected else ()
        out.same_checkpoint_engine = engine.checkpoint_engine is inner
        gc.collect()  # an exception inside torch.load() leaves its reader, with a descriptor, in a cycle
        out.left = _left(self.temporary)
        self.pipe.send(out)


def _enter(rank, world, setup, source, temporary, phases, pipe, port, timeout, log_path):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(port))
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    tempfile.tempdir = str(temporary)
    try:
        import deepspeed
        deepspeed.init_distributed(dist_backend="gloo", timeout=timedelta(seconds=timeout))
        _Rank(rank, world, setup, str(source), temporary, phases, pipe).serve()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(1)  # closes the pipe, which the caller notices


class Pool:
    """So many ranks, each with an engine, until one of them is killed."""

    def __init__(self, setup, world, source, folder, log_path, timeout):
        context = multiprocessing.get_context("fork")
        self.phases = context.RawArray("i", world)
        self.temporaries = [Path(tempfile.mkdtemp(prefix=f"rank{rank}-", dir=folder)) for rank in range(world)]
        self._pipes, self._processes = [], []
        port = ranks.free_port()
        for rank in range(world):
            ours, theirs = context.Pipe()
            process = context.Process(target=_enter, args=(rank, world, setup, source, self.temporaries[rank], self.phases,
                                                           theirs, port, timeout, log_path))
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)
        self.pids = [process.pid for process in self._processes]
        self._expect("ready")

    def _expect(self, word):
        for rank in range(len(self._pipes)):
            if (got := self.receive(rank, time.monotonic() + 60)) != word:
                raise ranks.RankFailure(f"rank {rank} sent {got!r} in place of {word!r}")

    def receive(self, rank, deadline):
        """What a rank sends. None if it ended."""
        if not self._pipes[rank].poll(max(0.0, deadline - time.monotonic())):
            raise ranks.RankFailure(f"rank {rank} did not answer in time")
        try:
            return self._pipes[rank].recv()
        except (EOFError, ConnectionResetError):
            return None

    def begin(self):
        """All ranks begin to load."""
        self._tell("load")
        self._expect("set")
        self.phases[:] = [IDLE] * len(self.phases)
        self._tell("go")

    def step(self):
        """All ranks train, after a load that all ended."""
        self._expect("ready")
        self._tell("step")
        self._expect("ready")

    def again(self):
        self._expect("ready")

    def _tell(self, word):
        for pipe in self._pipes:
            pipe.send(word)

    def kill(self, rank, number=signal.SIGKILL):
        os.kill(self.pids[rank], number)

    def close(self):
        for process in self._processes:
            process.kill()
            process.join()
        for pipe in self._pipes:
            pipe.close()


def children_of(pids):
    """Of these processes, begun by any thread."""
    out = []
    for pid in pids:
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                out += [int(word) for word in path.read_text().split()]
            except OSError:  # the thread ended
                continue
    return out


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def command_of(pid):
    """What a reader does: inspect, plan, serve. Empty if it is none, or none yet."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    is_reader = b"--json" in words or b"serve" in words
    return words[1].decode() if is_reader else ""


def readers_for(pids):
    """All living processes that read for these ranks, also after these have ended."""
    wanted = {f"SHARDSCOPE_PARENT={pid}".encode() for pid in pids}
    out = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and is_alive(folder.name):
            try:
                is_ours = not wanted.isdisjoint((folder / "environ").read_bytes().split(b"\0"))
            except OSError:
                continue
            if is_ours:
                out.append(int(folder.name))
    return out
