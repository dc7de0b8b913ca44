# SPDX-License-Identifier: Apache-2.0
"""The cases: what each does with a trained source, the built shardscope and unmodified DeepSpeed."""

import shutil
from dataclasses import dataclass, field

from compare import checks
from runs.setups import Setup


@dataclass
class Context:
    tool: object
    sources: object
    work: object
    samples: object  # folder of the committed sample checkpoints
    swapped: dict = field(default_factory=dict)  # the runs that nvme.py trained

    def target(self, name):
        folder = self.work / "targets" / name.replace("/", "_").replace(" ", "_")
        shutil.rmtree(folder, ignore_errors=True)
        return folder


@dataclass(frozen=True)
class Reshard:
    """Save at one world size, reshard, load at another: the state is the same bit for bit, and the losses continue the
    same."""
    setup: Setup
    before: int
    after: int
    accumulation: int = 1
    resume_setup: Setup = None  # if the new run's configuration differs
    options: tuple = ()
    label: str = "reshard"
    exact_losses: bool = False
    tolerance: float = None  # of the losses, where an optimizer takes norms of a rank's own shard

    @property
    def name(self):
        suffix = f" accumulation x{self.accumulation}" if self.accumulation > 1 else ""
        return f"{self.label} {self.setup.name} {self.before}->{self.after}{suffix}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        target = context.target(self.name)
        context.tool.reshard(source.folder, target, self.after, *self.options)
        state, losses, client = context.sources.resume(self.resume_setup or self.setup, self.after, target,
                                                       self.accumulation)
        tensors = checks.same_state(source.state, state)
        checks.same_client_state(client)
        if not self.setup.legacy:  # torch lists the classes of zip files only
            checks.same_trust(source.folder, target)
        tolerance = 0.0 if self.exact_losses else self.tolerance or checks.TOLERANCE[self.setup.precision]
        deviation = checks.losses_track(source.losses, losses, tolerance)
        return f"{tensors} tensors bit-equal, loss deviation {deviation:.1e}"


@dataclass(frozen=True)
class RoundTrip:
    """Resharding and back gives the bytes of our own rewrite, whose tensors equal the source's."""
    setup: Setup
    before: int
    between: int

    @property
    def name(self):
        return f"round trip {self.setup.name} {self.before}->{self.between}->{self.before}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        rewrite, there, back = (context.target(f"{self.name} {part}") for part in ("rewrite", "there", "back"))
        context.tool.reshard(source.folder, rewrite, self.before)
        context.tool.reshard(source.folder, there, self.between)
        context.tool.reshard(there, back, self.before)
        files = checks.same_files(rewrite, back)
        # Stock DeepSpeed records wrong slice mappings under round robin; ours are in flat order.
        tensors = checks.same_payload(source.folder, rewrite, same_mappings=not self.setup.round_robin)
        again = context.target(f"{self.name} again")
        context.tool.reshard(source.folder, again, self.between, "--jobs", 1)
        checks.same_files(there, again, ignore=())
        return f"{files} files byte-equal, {tensors} tensors equal to the source's"


@dataclass(frozen=True)
class Folder:
    """The files around the written checkpoint: latest, scripts, other tags, and the verbs that read it back."""
    setup: Setup
    before: int
    after: int

    @property
    def name(self):
        return f"folder {self.setup.name} {self.before}->{self.after}"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        target = context.target(self.name)
        other = target / "global_step1"
        other.mkdir(parents=True)
        (other / "kept.txt").write_text("not ours", encoding="utf-8")
        context.tool.reshard(source.folder, target, self.after)
        tag = (source.folder / "latest").read_text()
        if (target / "latest").read_text() != tag:
            raise checks.Failure(f"latest says {(target / 'latest').read_text()!r}, not {tag!r}")
        if (other / "kept.txt").read_text(encoding="utf-8") != "not ours" or len(list(other.iterdir())) != 1:
            raise checks.Failure("another tag of the target folder was touched")
        for script in source.folder.glob("*.py"):
            if (target / script.name).read_bytes() != script.read_bytes():
                raise checks.Failure(f"{script.name} did not go along")
        left = [path.name for path in target.iterdir() if path.name.startswith(".")]
        if left:
            raise checks.Failure(f"left behind: {left}")
        inspected = context.tool.call("inspect", target)
        if not inspected["supported"] or inspected["parallel"]["dp"] != self.after:
            raise checks.Failure(f"inspect says {inspected['supported']}, {inspected['parallel']}")
        if not context.tool.call("verify", target)["ok"]:
            raise checks.Failure("verify does not accept what reshard wrote")
        # It reads the names in flat order, which differs at every world size under round robin.
        merged = (0 if self.setup.bf16_optimizer else
                  checks.same_stock_export(source.folder, target, same_order=not self.setup.round_robin))
        return f"folder complete, {merged} tensors equal through zero_to_fp32"


@dataclass(frozen=True)
class ComparisonItself:
    """Tests the comparison itself: one changed byte in one rank's file must be found, as exactly one tensor."""
    setup: Setup
    before: int
    after: int
    loads_source = False  # the result is changed

    @property
    def name(self):
        return f"judge {self.setup.name} {self.before}->{self.after} sees one changed element"

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        target = context.target(self.name)
        context.tool.reshard(source.folder, target, self.after)
        checks.change_one_element(target)
        state, *_ = context.sources.resume(self.setup, self.after, target)
        from compare import live_state
        found = live_state.differences(source.state, state)
        if len(found) != 1 or "#exp_avg:" not in found[0]:
            raise checks.Failure(f"expected one difference in one exp_avg, found {found}")
        return found[0]


@dataclass(frozen=True)
class Sample:
    """A committed sample, also of older DeepSpeed releases: today's DeepSpeed loads what the saving engine held."""
    sample: str
    setup: Setup
    after: int

    @property
    def name(self):
        return f"sample {self.sample} ->{self.after}"

    def run(self, context):
        source = context.samples / self.sample
        target = context.target(self.name)
        context.tool.reshard(source, target, self.after)
        state, losses, _ = context.sources.resume(self.setup, self.after, target)
        if not all(loss < 10 for loss in losses):
            raise checks.Failure(f"training on gives losses {losses}")
        return f"{checks.same_as_noted(source, state)} tensors as noted by the engine that saved it"
