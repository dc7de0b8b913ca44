# SPDX-License-Identifier: Apache-2.0
"""What DeepSpeed's own conversion through universal folders does wrong or cannot do, compared with shardscope's result
for the same source. A case also fails if DeepSpeed has fixed its fault."""

from dataclasses import dataclass
from typing import Callable

import torch

from cases.universal import stage_options
from compare import checks
from runs import ranks, universal
from runs.setups import Setup


def must_fail(text, function, *arguments):
    """DeepSpeed's message, which has to hold this text."""
    try:
        function(*arguments)
    except ranks.RankFailure as failure:
        last = str(failure).strip().splitlines()[-1]
        if text not in last:
            raise checks.Failure(f"DeepSpeed fails otherwise than known, with {last}") from None
        return last
    raise checks.Failure(f"DeepSpeed no longer fails with {text}")


def lost_names(setup, source, folder):
    """Names with [ or * keep no moments, and as master the 16-bit weight."""
    zero = folder / (folder / "latest_universal").read_text() / "zero"
    lost = []
    for entry in sorted(zero.iterdir()):
        if f"{entry.name}#exp_avg" not in source.state or (entry / "exp_avg.pt").exists():
            continue
        lost.append(entry.name)
        master = torch.load(entry / "fp32.pt", weights_only=False)["param"]
        _, shape, data = source.state[f"weight {entry.name}"]
        weight = torch.frombuffer(bytearray(data), dtype=torch.bfloat16).reshape(shape).float()
        if not torch.equal(master, weight):
            raise checks.Failure(f"DeepSpeed's converter has another master of {entry.name} than its 16-bit weight")
    if not lost or not all("[" in name or "*" in name for name in lost):
        raise checks.Failure(f"DeepSpeed's converter loses the moments of {lost}")
    return f"without moments: {lost}"


def known_changes(setup, source, resumed, engine):
    """Frozen parameters and buffers are those of the new model; in ZeRO-3 all groups have the first one's options."""
    changes = universal.stock_changes(source.state, setup, engine, frozen=False)
    checks.same_state_but(source.state, resumed.state, changes)
    try:
        deviation = checks.losses_track(source.losses, resumed.losses, checks.TOLERANCE[engine.precision])
    except checks.Failure as failure:
        return f"{len(changes)} values changed, {failure}"
    raise checks.Failure(f"losses agree to {deviation:.1e} although {len(changes)} values changed")


def scrambled(setup, source, resumed, engine):
    wrong = [label for label, value in source.state.items()
             if isinstance(value, bytes) and resumed.state[label] != value]
    if not wrong:
        raise checks.Failure("DeepSpeed's converter has learnt the round-robin order")
    return f"{len(wrong)} tensors scrambled silently"


@dataclass(frozen=True)
class ComparedWithStock:
    setup: Setup
    before: int
    engine: Setup
    after: int
    about: str
    convert_error: str = ""  # what DeepSpeed's converter raises
    load_error: str = ""  # what DeepSpeed raises when it loads the folder of its own converter
    folder_fault: Callable = None  # what is wrong in that folder
    load_fault: Callable = None  # what is wrong once it is loaded
    universal: bool = False  # ours uses a universal folder too, otherwise native

    @property
    def name(self):
        return f"next to stock, {self.about}: {self.setup.name} {self.before}->{self.engine.name} {self.after}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        return f"stock: {self._stock(context, source)}; ours: {self._ours(context, source)}"

    def _stock(self, context, source):
        target = context.target(f"{self.name} stock")
        if self.convert_error:
            return must_fail(self.convert_error, universal.stock_convert, context, source.folder, target)
        universal.stock_convert(context, source.folder, target)
        notes = []
        if self.folder_fault:
            notes.append(self.folder_fault(self.setup, source, target))
        if self.load_error:
            notes.append(must_fail(self.load_error, universal.resume, context, self.engine, self.after, target))
        if self.load_fault:
            resumed = universal.resume(context, self.engine, self.after, target, frozen_seed=None)
            notes.append(self.load_fault(self.setup, source, resumed, self.engine))
        return ", ".join(notes)

    def _ours(self, context, source):
        if self.universal:
            folder = universal.make_universal(context, "ours", source.folder, self.name)
            resumed = universal.resume(context, self.engine, self.after, folder)
            state, losses, client = resumed.state, resumed.losses, resumed.client
            changes = universal.stock_changes(source.state, self.setup, self.engine)
        else:
            target = context.target(f"{self.name} ours")
            context.tool.reshard(source.folder, target, self.after, *stage_options(self.engine))
            state, losses, client = context.sources.resume(self.engine, self.after, target)
            changes = universal.scaler_changes(self.setup, self.engine)
        tensors = checks.same_state_but(source.state, state, changes)
        checks.same_client_state(client)
        deviation = checks.losses_track(source.losses, losses, checks.TOLERANCE[self.engine.precision])
        return f"{tensors} tensors bit-equal, loss deviation {deviation:.1e}"


@dataclass(frozen=True)
class StockCannotLoad:
    """A universal folder that holds what stages 1 and 2 restore, and whose loader for ZeRO-3 knows only Adam's states:
    it stops, and never continues with half a state."""
    setup: Setup
    before: int
    engine: Setup
    after: int
    load_error: str

    @property
    def name(self):
        return f"stock cannot load {self.setup.name} {self.before}->{self.engine.name} {self.after}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        folder = universal.make_universal(context, "ours", source.folder, self.name)
        return must_fail(self.load_error, universal.resume, context, self.engine, self.after, folder)
