# SPDX-License-Identifier: Apache-2.0
"""Pipeline stages, experts and tensor slices, rewritten for another number of data-parallel ranks."""

from dataclasses import dataclass, replace

from compare import checks, live_state, structure
from runs import ranks
from runs.sources import STEPS_AFTER, STEPS_BEFORE, Source, mean_losses

_made = {}


def train_and_save(rank, world, setup, folder):
    from runs import parallel_training
    engine = parallel_training.build_engine(setup, world)
    parallel_training.train(engine, setup, rank, world, 0, STEPS_BEFORE)
    engine.save_checkpoint(folder, client_state=parallel_training.client_state(setup))
    state = parallel_training.local_state(engine, setup, rank, world)
    return state, parallel_training.train(engine, setup, rank, world, STEPS_BEFORE, STEPS_AFTER)


def load_and_train(rank, world, setup, folder):
    from runs import parallel_training
    # Another seed, so that values that the load leaves out differ.
    engine = parallel_training.build_engine(setup, world, seed=99)
    path, _ = engine.load_checkpoint(folder)
    if path is None:
        raise RuntimeError(f"DeepSpeed found no checkpoint in {folder}")
    state = parallel_training.local_state(engine, setup, rank, world)
    return state, parallel_training.train(engine, setup, rank, world, STEPS_BEFORE, STEPS_AFTER)


def parts_of(rank, world, setup):
    """The layers of each stage, as a user reads them from the new run."""
    from runs import parallel_models
    import torch
    module = parallel_models.pipeline_model(setup.degree, blocks=setup.blocks, partition=setup.partition,
                                            tied=setup.tied)
    torch.distributed.barrier()  # otherwise the first rank may end while others still connect to it
    return [int(layer) for layer in module.parts]


def source_of(context, setup, world):
    key = (context.work, setup, world)
    if key not in _made:
        folder = context.work / "sources" / f"parallel-{setup.name}-w{world}"
        states, losses = zip(*ranks.run_ranks(world, train_and_save, setup, str(folder), log_path=context.sources.log))
        _made[key] = Source(folder, live_state.merge(states), mean_losses(losses))
    return _made[key]


# From the first step on, stock trains a pipeline without ZeRO differently than with it: only the loss before the next
# step is the same.
BEFORE_ANY_STEP = 1

# What only engines with ZeRO keep, in fp32: the scaler and the clipping of the configuration.
KEPT_WITH_ZERO = tuple(f"scalar {key}" for key in ("clip_grad", "dynamic_loss_scale", "loss_scaler", "overflow"))


def continues_as(context, setup, world, target, source, expected, changed=(), ignored=(), tracked=STEPS_AFTER):
    """An engine of `setup` loads TARGET, holds `expected` bit for bit but for the labels that `changed` gives other
    values and those in `ignored`, and its first `tracked` losses are the source's."""
    states, losses = zip(*ranks.run_ranks(world, load_and_train, setup, str(target), log_path=context.sources.log))
    expected, found = ({label: value for label, value in state.items() if label not in ignored}
                       for state in (expected, live_state.merge(states)))
    tensors = checks.same_state_but(expected, found, dict(changed))
    deviation = checks.losses_track(source.losses[:tracked], mean_losses(losses)[:tracked], checks.TOLERANCE[setup.precision])
    return f"{tensors} tensors bit-equal, loss deviation {deviation:.1e}"


def same_values(context, target, source):
    verified = context.tool.call("verify", target, "--against", source.folder)
    if not verified["ok"]:
        raise checks.Failure(f"verify finds other values than the source's: {verified['problems']}")


@dataclass(frozen=True)
class ParallelReshard:
    """As Reshard: the state is equal bit for bit on every rank, and the losses continue the same."""
    setup: object
    before: int  # all ranks
    after: int
    options: tuple = ()

    @property
    def name(self):
        return f"parallel {self.setup.name} {self.before}->{self.after}"

    def run(self, context):
        source = source_of(context, self.setup, self.before)
        target = context.target(self.name)
        context.tool.reshard(source.folder, target, self.after, *self.options)
        checks.same_trust(source.folder, target)
        same_values(context, target, source)
        return continues_as(context, self.setup, self.after, target, source, source.state)


@dataclass(frozen=True)
class UnpartitionedSlices:
    """Tensor slices or pipeline stages without ZeRO: no data-parallel rank holds a part, and only the recorded number of them changes."""
    setup: object
    before: int
    after: int

    @property
    def name(self):
        return f"parallel {self.setup.name} {self.before}->{self.after} unpartitioned"

    def run(self, context):
        source = source_of(context, self.setup, self.before)
        target = context.target(self.name)
        context.tool.reshard(source.folder, target, self.after)
        checks.same_trust(source.folder, target)
        alike = structure.compare(source.folder, target, ("dp_world_size",))
        same_values(context, target, source)
        context.tool.call("diff", source.folder, target)  # exit 0: the same training state
        prints = {context.tool.call("fingerprint", folder)["fingerprint"] for folder in (source.folder, target)}
        if len(prints) != 1:
            raise checks.Failure(f"the fingerprints differ: {prints}")
        result = continues_as(context, self.setup, self.after, target, source, source.state)
        return f"{alike} values as they were, {result}"


@dataclass(frozen=True)
class SlicesToStage:
    """Tensor slices or pipeline stages of one ZeRO stage, loaded in another, where one of the two is stage 0; in fp32."""
    setup: object
    before: int
    after: int
    stage: int

    @property
    def name(self):
        return f"parallel {self.setup.name} {self.before}->zero{self.stage} in slices {self.after}"

    def run(self, context):
        source = source_of(context, self.setup, self.before)
        target = context.target(self.name)
        context.tool.reshard(source.folder, target, self.after, "--stage", self.stage)
        same_values(context, target, source)
        engine = replace(self.setup, stage=self.stage)
        tracked = BEFORE_ANY_STEP if self.setup.kind == "pipeline" else STEPS_AFTER
        return continues_as(context, engine, self.after, target, source, source.state, ignored=KEPT_WITH_ZERO,
                          tracked=tracked)


@dataclass(frozen=True)
class ShardsWithoutZero:
    """Pipeline stages of a bf16 run without ZeRO, which stock saves as shards and cannot load again: an engine of ZeRO
    stage 1 with the same BF16_Optimizer continues with them."""
    setup: object
    before: int
    after: int

    @property
    def name(self):
        return f"parallel {self.setup.name} {self.before}->bf16opt {self.after}"

    def run(self, context):
        source = source_of(context, self.setup, self.before)
        target = context.target(self.name)
        context.tool.reshard(source.folder, target, self.after)
        same_values(context, target, source)
        engine = replace(self.setup, stage=1, bf16_optimizer=True)
        return continues_as(context, engine, self.after, target, source, source.state, tracked=BEFORE_ANY_STEP)


@dataclass(frozen=True)
class RepartitionExperts:
    """Experts for another number of expert-parallel ranks: the same state but for the degree in the groups' names."""
    setup: object
    before: int
    after: int
    degree: int

    @property
    def name(self):
        return f"parallel {self.setup.name} {self.before}->{self.after} experts{self.degree}"

    def run(self, context):
        source = source_of(context, self.setup, self.before)
        target = context.target(self.name)
        context.tool.reshard(source.folder, target, self.after, "--ep", self.degree)
        names = {label: ("str", repr(f"ep_size_{self.degree}")) for label, value in source.state.items()
                 if value == ("str", repr(f"ep_size_{self.setup.degree}"))}
        if not names:
            raise checks.Failure("no param group is named after its expert-parallel degree")
        checks.same_trust(source.folder, target)
        same_values(context, target, source)
        resumed = replace(self.setup, degree=self.degree)
        return continues_as(context, resumed, self.after, target, source, source.state, names)


@dataclass(frozen=True)
class ParallelRoundTrip:
    """Resharding and back gives the bytes of our own rewrite, whose tensors equal the source's."""
    setup: object
    before: int
    between: int

    @property
    def name(self):
        return f"parallel round trip {self.setup.name} {self.before}->{self.between}->{self.before}"

    def run(self, context):
        source = source_of(context, self.setup, self.before)
        rewrite, there, back = (context.target(f"{self.name} {part}") for part in ("rewrite", "there", "back"))
        context.tool.reshard(source.folder, rewrite, self.before)
        context.tool.reshard(source.folder, there, self.between)
        context.tool.reshard(there, back, self.before)
        files = checks.same_files(rewrite, back)
        tensors = checks.same_payload(source.folder, rewrite)
        return f"{files} files byte-equal, {tensors} tensors equal to the source's"


def _merged(state):
    """The state of one engine without tensor slices: rows and columns as AutoTP split them, other parameters once."""
    def bytes_of(name, slices):
        if "up_proj" in name:
            return b"".join(slices)
        if name.endswith("down_proj.weight"):
            from runs import parallel_models
            rows, run = parallel_models.WIDTH, len(slices[0]) // parallel_models.WIDTH
            return b"".join(part[row * run:(row + 1) * run] for row in range(rows) for part in slices)
        if any(part != slices[0] for part in slices):
            raise checks.Failure(f"{name} is not the same on all slices")
        return slices[0]

    out = {}
    for label, value in state.items():
        if ":tp" not in label:
            out[label] = value
            continue
        if ":tp0" not in label:
            continue
        name = label.replace(":tp0", "")
        slices = [value]
        while (other := label.replace(":tp0", f":tp{len(slices)}")) in state:
            slices.append(state[other])
        whole = name.split("#")[0].removeprefix("weight ").removeprefix("elements of ")
        if isinstance(value, bytes):
            out[name] = bytes_of(whole, slices)
        elif label.startswith("weight "):
            dtype, shape, _ = value
            data = bytes_of(whole, [part[2] for part in slices])
            axis = 1 if whole.endswith("down_proj.weight") else 0
            grown = len(data) // len(value[2])
            shape = tuple(size * grown if index == axis else size for index, size in enumerate(shape))
            out[name] = (dtype, shape, data)
        elif label.startswith("elements of "):
            cut = "up_proj" in whole or whole.endswith("down_proj.weight")
            out[name] = sum(slices) if cut else value
        else:
            out[name] = value
    return out


@dataclass(frozen=True)
class MergeSlices:
    """Trained in tensor slices, loaded by an engine without: through a native or a universal checkpoint."""
    setup: object
    before: int
    after: int
    stage: int
    universal: bool = False

    @property
    def name(self):
        form = "universal" if self.universal else "native"
        return f"parallel {self.setup.name} {self.before}->{form} one slice zero{self.stage} {self.after}"

    def run(self, context):
        source = source_of(context, self.setup, self.before)
        target = context.target(self.name)
        if self.universal:
            context.tool.convert(source.folder, target)
        else:
            context.tool.reshard(source.folder, target, self.after, "--tp", 1, "--stage", self.stage)
        whole = replace(self.setup, degree=1, stage=self.stage, universal=self.universal)
        return continues_as(context, whole, self.after, target, source, _merged(source.state))


def _for_stages(state, before, stages):
    """The state of a pipeline with that many stages: the module that first and last layer share is on the first and
    last."""
    out = {label: value for label, value in state.items() if before == 1 or f":pp{before - 1}" not in label}
    last = {label.replace(":pp0", f":pp{stages - 1}"): value for label, value in out.items() if ":pp0" in label}
    return out | last if stages > 1 else out


@dataclass(frozen=True)
class MergeStages:
    """Trained in pipeline stages, loaded by a pipeline of another number of stages: natively by one of one stage,
    through a universal checkpoint by any."""
    setup: object
    before: int
    after: int
    stages: int = 1
    universal: bool = False

    @property
    def name(self):
        form = "universal" if self.universal else "native"
        return f"parallel {self.setup.name} {self.before}->{form} {self.stages} stages {self.after}"

    def run(self, context):
        source = source_of(context, self.setup, self.before)
        target = context.target(self.name)
        if self.universal:
            context.tool.convert(source.folder, target)
        else:
            context.tool.reshard(source.folder, target, self.after, "--pp", self.stages)
        same_values(context, target, source)
        whole = replace(self.setup, degree=self.stages, universal=self.universal)
        return continues_as(context, whole, self.after, target, source,
                          _for_stages(source.state, self.setup.degree, self.stages))


@dataclass(frozen=True)
class RepartitionStages:
    """Trained in pipeline stages, loaded natively by a pipeline with another number of stages, or with other layers in
    each stage. The layers of each stage are given as options."""
    setup: object
    before: int
    after: int
    stages: int
    partition: str = "uniform"

    @property
    def name(self):
        by = f" by {self.partition}" if self.partition != "uniform" else ""
        return f"parallel {self.setup.name} {self.before}->split {self.stages} stages{by} {self.after}"

    def run(self, context):
        source = source_of(context, self.setup, self.before)
        target = context.target(self.name)
        resumed = replace(self.setup, degree=self.stages, partition=self.partition)
        layers = ranks.run_ranks(self.after, parts_of, resumed, log_path=context.sources.log)[0]
        tied = f"embed=0,{layers[-1] - 1}"
        if self.stages != self.setup.degree:
            refused = context.tool.call("reshard", source.folder, target, "-w", self.after, "--pp", self.stages, expect=6)
            if "--pp-layers" not in refused["hint"]:
                raise checks.Failure(f"the refusal names no way: {refused}")
        named = ["--pp", self.stages, "--pp-layers", ",".join(map(str, layers))]
        refused = context.tool.call("reshard", source.folder, target, "-w", self.after, *named, expect=6)
        if "--pp-tied embed=" not in refused["hint"]:
            raise checks.Failure(f"the refusal names no way: {refused}")
        context.tool.reshard(source.folder, target, self.after, *named, "--pp-tied", tied)
        checks.same_trust(source.folder, target)
        same_values(context, target, source)
        result = continues_as(context, resumed, self.after, target, source,
                          _for_stages(source.state, self.setup.degree, self.stages))
        return f"layers {layers}, {result}"
