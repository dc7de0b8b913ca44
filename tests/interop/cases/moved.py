# SPDX-License-Identifier: Apache-2.0
"""How many bytes a load without a copy reads and writes (shardscope.deepspeed)."""

import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cases.examples import python_package
from compare import checks, live_state
from runs import counted, live, ranks, universal
from runs.setups import Setup

READ_AT_MOST = 1.05  # of a rank's own files and the metadata
MIB = 1 << 20


def _load(rank, world, setup, folder, memory, options):
    """The number of this process, what it moved while it loaded, the state that it has then, and the files that it asked
    for."""
    from runs.training import build_engine
    from shardscope.deepspeed import load_checkpoint
    from shardscope.server import Server
    log = os.open(os.devnull, os.O_WRONLY)
    os.dup2(log, 1)
    os.dup2(log, 2)
    tempfile.tempdir = memory  # where stubs and answers are no bytes on a disk
    engine = build_engine(setup, world, seed=99)
    asked, emit = [], Server.emit
    Server.emit = lambda server, plan, file, to: (asked.append(file), emit(server, plan, file, to))[1]
    before = counted.moved_by(os.getpid())
    load_checkpoint(engine, folder, **options)
    after = counted.moved_by(os.getpid())
    moved = {name: after[name] - before[name] for name in after}
    return os.getpid(), moved, live_state.local_state(engine, rank), asked


@dataclass(frozen=True)
class Moved:
    """Each rank reads its own files once, and little else; nothing is written to a disk. The state is the source's."""
    setup: Setup
    before: int
    engine: Setup
    after: int
    verify: bool = True

    @property
    def name(self):
        suffix = "" if self.verify else " unverified"
        return f"live bytes {self.setup.name} {self.before}->{self.engine.name} {self.after}{suffix}"

    def run(self, context):
        saved = context.sources.get(self.setup, self.before)
        live.prepare(python_package(context), context.tool.program)
        memory = Path(tempfile.mkdtemp(prefix="shardscope-interop-", dir="/dev/shm"))
        try:
            program = str(counted.install(context.tool.program, memory))
            os.environ["SHARDSCOPE_PROGRAM"] = program
            # The kernel may write the time of an access into an inode, of a file, a folder or a link on the way, at the
            # first access of a day: the second load is counted.
            for _ in range(2):
                (memory / "counts").unlink(missing_ok=True)
                results = ranks.run_ranks(self.after, _load, self.engine, str(saved.folder), str(memory),
                                          {"verify": self.verify}, log_path=context.sources.log)
            calls = [json.loads(line) for line in (memory / "counts").read_text().splitlines()]
        finally:
            shutil.rmtree(memory)
        # Other cases have small records only, which are read from memory in another way.
        checks.same_state_but(saved.state, live_state.merge([state for _, _, state, _ in results]),
                              universal.scaler_changes(self.setup, self.engine))
        sizes = self._sizes(context, saved.folder)
        notes = [self._rank(number, [call for call in calls if call["rank"] == pid], asked, calls, moved, sizes)
                 for number, (pid, moved, _, asked) in enumerate(results)]
        return "; ".join(notes)

    def _sizes(self, context, source):
        """Of the files that a rank can ask for."""
        target = context.target(self.name)
        context.tool.call("reshard", source, target, "-w", self.after, "--stage", self.engine.stage,
                          *(["--sub-group-size", self.engine.sub_group_size] if self.engine.stage == 3 else []))
        return {path.name: path.stat().st_size for path in target.rglob("*.pt")}

    @staticmethod
    def _rank(number, calls, asked, all_calls, own, sizes):
        if [call["words"][0] for call in calls].count("serve") != 1 or not asked or len(set(asked)) != len(asked):
            raise checks.Failure(f"rank {number} asked for {asked}")
        files = sum(sizes[name] for name in asked)
        metadata = next(call["rchar"] for call in all_calls if call["words"][0] == "inspect")
        read = sum(call["rchar"] for call in calls)
        # The kernel adds the counts of processes that ended to those of the process that waited for them.
        written = max(own["write_bytes"], sum(call["write_bytes"] for call in calls))
        from_memory = own["rchar"] - read - sum(call["counting"] for call in calls)
        ratio = read / (files + metadata)
        note = (f"rank {number} read {read / MIB:.2f} MiB, {ratio:.3f} of its files ({files / MIB:.2f} MiB) and metadata"
                f" ({metadata / MIB:.2f} MiB), wrote {written} bytes;"
                f" its process read {from_memory / MIB:.2f} MiB from memory")
        if written or ratio > READ_AT_MOST:
            raise checks.Failure(f"{note}; {own['write_bytes']} bytes in all, of them"
                                 f" {[(call['words'][0], call['write_bytes']) for call in calls]}")
        if from_memory > files * READ_AT_MOST:
            raise checks.Failure(f"more than once: {note}")
        return note


WIDE = (("width", 512), ("layers", 4), ("vocabulary", 1024))
ZERO2, ZERO3 = Setup(2, "bf16", shape=WIDE), Setup(3, "bf16", sub_group_size=1000000, shape=WIDE)
MOVES = ((ZERO2, 2, ZERO2, 3), (ZERO3, 3, ZERO3, 2), (ZERO2, 2, ZERO3, 3))


def full_run():
    return [Moved(*move, verify) for move in MOVES for verify in (True, False)]


def short_run():
    return [Moved(*MOVES[0])]
