# SPDX-License-Identifier: Apache-2.0
"""`diff` on checkpoints of stock DeepSpeed: no false alarm for equal states, the right cause for each damage."""

import shutil
from dataclasses import dataclass
from typing import Callable

import torch

from cases.universal import stage_options
from compare import checks
from runs import universal
from runs.setups import Setup

ZERO2 = Setup(2, "bf16")
ZERO3 = Setup(3, "bf16", sub_group_size=200)


class DamagedCopy:
    """A copy of a checkpoint whose files are changed in memory and saved as torch saves them."""

    def __init__(self, source, target):
        shutil.copytree(source, target)
        self.folder = target
        self.tag = target / (target / "latest").read_text()

    def files(self, ending):
        # By the rank's number in the name.
        paths = [path for path in self.tag.glob(f"*{ending}.pt")]
        return sorted(paths, key=lambda path: int(path.name.split("rank_")[1].split("_")[0]))

    def edit(self, path, change):
        content = torch.load(path, weights_only=False, map_location="cpu")
        with torch.no_grad():
            change(content)
        torch.save(content, path)

    def edit_optimizers(self, change, ranks=None):
        for rank, path in enumerate(self.files("optim_states")):
            if ranks is None or rank in ranks:
                self.edit(path, lambda content: change(content["optimizer_state_dict"]))


def masters(optimizer):
    key = "fp32_flat_groups" if "fp32_flat_groups" in optimizer else "single_partition_of_fp32_groups"
    return optimizer[key]


def base(optimizer):
    inner = "optimizer_state_dict" if "fp32_flat_groups" in optimizer else "base_optimizer_state"
    return optimizer[inner]


def flats(optimizer):
    """Every flat tensor of masters and states."""
    yield from masters(optimizer)
    for state in base(optimizer)["state"].values():
        yield from (value for value in state.values() if torch.is_tensor(value) and value.dim() == 1)


def zero_moments(groups=None):
    def change(optimizer):
        for number, state in base(optimizer)["state"].items():
            if groups is None or number in groups:
                state["exp_avg"].zero_()
                state["exp_avg_sq"].zero_()
    return lambda damaged: damaged.edit_optimizers(change)


def restart_step(damaged):
    def change(optimizer):
        for state in base(optimizer)["state"].values():
            state["step"] = torch.ones_like(state["step"])
    damaged.edit_optimizers(change)


def first_group_everywhere(damaged):
    def change(optimizer):
        first, *others = base(optimizer)["param_groups"]
        for group in others:
            group.update({key: value for key, value in first.items() if key != "params"})
    damaged.edit_optimizers(change)


def other_rate(damaged):
    damaged.edit_optimizers(lambda optimizer: base(optimizer)["param_groups"][1].update(lr=0.5))


def other_scale(damaged):
    def change(optimizer):
        optimizer["loss_scaler"].cur_scale /= 4
    damaged.edit_optimizers(change)


def edit_model(change):
    return lambda damaged: damaged.edit(damaged.files("model_states")[0], change)


def other_schedule(model):
    model["lr_scheduler"]["last_epoch"] += 3


def other_counter(model):
    model["global_samples"] += 60


def stale_copies(model):
    name = next(key for key, value in model["module"].items() if value.dtype == torch.bfloat16 and value.dim() == 2)
    model["module"][name].mul_(1.5)


def swap_ranks(first, second):
    def damage(damaged):
        paths = damaged.files("optim_states")
        contents = [torch.load(paths[rank], weights_only=False, map_location="cpu") for rank in (first, second)]
        with torch.no_grad():
            for one, other in zip(*(flats(content["optimizer_state_dict"]) for content in contents), strict=True):
                kept = one.clone()
                one.copy_(other)
                other.copy_(kept)
        for rank, content in zip((first, second), contents):
            torch.save(content, paths[rank])
    return damage


def stale_rank(rank):
    def change(optimizer):
        for flat in flats(optimizer):
            flat.mul_(1.01)
    return lambda damaged: damaged.edit_optimizers(change, ranks=(rank,))


def swap_tensors(damaged):
    """Swaps two parameters of one size and group on one rank, in masters and moments."""
    model = torch.load(damaged.files("model_states")[0], weights_only=False, map_location="cpu")
    shapes = model["param_shapes"][0]
    path = damaged.files("optim_states")[0]
    content = torch.load(path, weights_only=False, map_location="cpu")
    optimizer = content["optimizer_state_dict"]
    room = masters(optimizer)[0].numel()
    places, at = {}, 0
    for name, shape in shapes.items():
        if at + shape.numel() <= room:
            places.setdefault(shape.numel(), []).append(at)
        at += shape.numel()
    size, (one, other, *_) = next((size, found) for size, found in places.items() if size > 1 and len(found) > 1)
    state = base(optimizer)["state"][0]
    with torch.no_grad():
        for flat in (masters(optimizer)[0], state["exp_avg"], state["exp_avg_sq"]):
            kept = flat[one:one + size].clone()
            flat[one:one + size] = flat[other:other + size]
            flat[other:other + size] = kept
    torch.save(content, path)


def rounded_masters(damaged):
    def change(optimizer):
        for flat in masters(optimizer):
            flat.copy_(flat.bfloat16().float())
    damaged.edit_optimizers(change)


def scrambled(damaged):
    def change(optimizer):
        for flat in masters(optimizer):
            flat.neg_()
    damaged.edit_optimizers(change)


def later(damaged):
    def change(optimizer):
        for flat in masters(optimizer):
            flat.mul_(1.0 + 0.01 * torch.rand_like(flat))
        for state in base(optimizer)["state"].values():
            state["step"] += 3
    damaged.edit_optimizers(change)


def one_bit(optimizer):
    masters(optimizer)[0].view(torch.int32)[3] ^= 1


def one_nan(optimizer):
    base(optimizer)["state"][0]["exp_avg"][5] = float("nan")


def noise(optimizer):
    base(optimizer)["state"][0]["exp_avg"].mul_(1.0 + 1e-6)


def padding(damaged):
    """The last elements of the last rank's buffers belong to no parameter."""
    paths = damaged.files("optim_states")
    found = []

    def change(optimizer):
        for number, count in enumerate(optimizer["group_paddings"]):
            if count:
                base(optimizer)["state"][number]["exp_avg"][-count:] = 7.0
                found.append(count)
    damaged.edit(paths[-1], lambda content: change(content["optimizer_state_dict"]))
    if not found:
        raise checks.Failure("the sample has no padding to change")


@dataclass(frozen=True)
class Planted:
    """One damage; `diff` must name it and its consequence."""
    about: str
    damage: Callable
    causes: tuple
    verdict: str = "will-train-differently"
    setup: Setup = ZERO2
    world: int = 2
    also: tuple = ()  # causes that may be named in addition

    @property
    def name(self):
        return f"diff reports {self.about}, {self.setup.name} w{self.world}"

    def run(self, context):
        source = context.sources.get(self.setup, self.world)
        damaged = DamagedCopy(source.folder, context.target(self.name))
        self.damage(damaged)
        equal = self.verdict in ("same-training-state", "different-in-padding")
        answer = context.tool.call("diff", source.folder, damaged.folder, expect=0 if equal else 1)
        found = tuple(cause["code"] for cause in answer["causes"])
        if answer["verdict"] != self.verdict or answer["equal"] != equal:
            raise checks.Failure(f"diff says {answer['verdict']}, {found}")
        if not set(self.causes) <= set(found) or not set(found) <= set(self.causes) | set(self.also):
            raise checks.Failure(f"diff names {found}, not {self.causes}")
        for cause in answer["causes"]:
            if cause["side"] == "left":
                raise checks.Failure(f"diff blames the sound checkpoint for {cause['code']}")
        return f"{answer['verdict']}: {', '.join(found) or 'no cause'}"


@dataclass(frozen=True)
class NoAlarm:
    """The same training state in other worlds, stages and forms."""
    setup: Setup
    world: int
    engine: Setup
    after: int
    form: str = "native"

    @property
    def name(self):
        return f"diff finds the same, {self.setup.name} {self.world}->{self.engine.name} {self.after} {self.form}"

    def run(self, context):
        source = context.sources.get(self.setup, self.world)
        target = context.target(self.name)
        if self.form == "stock universal":
            universal.stock_convert(context, source.folder, target)
        elif self.form == "universal":
            context.tool.convert(source.folder, target)
        else:
            context.tool.reshard(source.folder, target, self.after, *stage_options(self.engine))
        answer = context.tool.call("diff", source.folder, target)
        if not answer["equal"] or answer["verdict"] not in ("same-training-state", "different-in-padding"):
            raise checks.Failure(f"diff says {answer['verdict']}: {answer['causes'][:3]} {answer['differences'][:3]}")
        if answer["causes"]:
            raise checks.Failure(f"diff explains what does not differ: {answer['causes']}")
        return f"{answer['verdict']}, {answer['compared']['tensors']} tensors, {answer['compared']['scalars']} scalars"


@dataclass(frozen=True)
class LostByStock:
    """Names with [ ] * lose their moments in DeepSpeed's converter."""
    setup: Setup
    world: int

    @property
    def name(self):
        return f"diff reports what stock's converter loses, {self.setup.name} w{self.world}"

    def run(self, context):
        source = context.sources.get(self.setup, self.world)
        target = context.target(self.name)
        universal.stock_convert(context, source.folder, target)
        answer = context.tool.call("diff", source.folder, target, expect=1)
        lost = {(one["param"], one["state"]) for one in answer["differences"] if one["kind"] == "only-left"}
        if not lost or not all("[" in name or "*" in name for name, _ in lost):
            raise checks.Failure(f"diff says {lost or answer['causes']}")
        if "states-missing" not in {cause["code"] for cause in answer["causes"]}:
            raise checks.Failure(f"diff names {answer['causes']}")
        return f"{len(lost)} states only left"


@dataclass(frozen=True)
class ScrambledByStock:
    """Under round_robin_gradients DeepSpeed's converter reads flat groups in another order than the stored one."""
    setup: Setup
    world: int

    @property
    def name(self):
        return f"diff reports the order that stock's converter takes, {self.setup.name} w{self.world}"

    def run(self, context):
        source = context.sources.get(self.setup, self.world)
        target = context.target(self.name)
        universal.stock_convert(context, source.folder, target)
        answer = context.tool.call("diff", source.folder, target, expect=1)
        causes = {cause["code"]: cause for cause in answer["causes"]}
        cause = causes.get("flat-group-order")
        if cause is None or cause["side"] != "right" or answer["verdict"] != "will-train-differently":
            raise checks.Failure(f"diff says {answer['verdict']} and names {list(causes)}")
        if f"distributed to {self.world} ranks" not in cause["evidence"][0]:
            raise checks.Failure(f"diff shows {cause['evidence']}")
        turned = context.tool.call("diff", target, source.folder, expect=1)["causes"]
        if ("flat-group-order", "left") not in {(cause["code"], cause["side"]) for cause in turned}:
            raise checks.Failure(f"the other way round diff names {turned}")
        return f"{cause['evidence'][0]}; also {', '.join(sorted(set(causes) - {'flat-group-order'})) or 'nothing'}"


def planted():
    def one(change):
        return lambda damaged: damaged.edit_optimizers(change, ranks=(0,))
    return [
        Planted("zeroed moments", zero_moments(), ("moments-zeroed",)),
        Planted("zeroed moments of a group", zero_moments((1,)), ("moments-zeroed",)),
        Planted("a restarted step", restart_step, ("step-restarted",)),
        Planted("options of the first group", first_group_everywhere, ("options-of-first-group",)),
        Planted("another rate", other_rate, ("options-differ",)),
        Planted("another loss scale", other_scale, ("scaler-differs",), setup=Setup(2, "fp16")),
        Planted("another schedule", edit_model(other_schedule), ("scheduler-differs",)),
        Planted("another counter", edit_model(other_counter), ("counters-differ",), "different-in-bookkeeping"),
        Planted("stale copies", edit_model(stale_copies), ("copies-disagree",), "same-training-state"),
        Planted("swapped tensors", swap_tensors, ("tensors-swapped",), also=("copies-disagree",)),
        Planted("swapped ranks", swap_ranks(0, 1), ("ranks-swapped",), world=3, also=("copies-disagree",)),
        Planted("swapped ranks", swap_ranks(1, 3), ("ranks-swapped",), setup=ZERO3, world=4),
        Planted("swapped ranks", swap_ranks(0, 2), ("ranks-swapped",), world=4, also=("copies-disagree",)),
        Planted("a stale rank", stale_rank(1), ("stale-shard",), also=("copies-disagree",)),
        Planted("a stale rank", stale_rank(2), ("stale-shard",), setup=ZERO3, world=4),
        Planted("rounded masters", rounded_masters, ("masters-rounded",), also=("other-run",)),
        Planted("another run", scrambled, ("other-run",), also=("copies-disagree",)),
        Planted("a later step", later, ("other-step", "step-differs"), also=("copies-disagree",)),
        Planted("a last bit", one(one_bit), (), "different-in-last-bit"),
        Planted("a moment's rounding", one(noise), (), "will-train-alike"),
        Planted("a NaN", one(one_nan), ("not-finite",)),
        Planted("padding", padding, (), "different-in-padding"),
    ]


def short_run():
    cases = planted()
    return [cases[0], cases[11], cases[13], cases[18], NoAlarm(ZERO2, 2, ZERO3, 3)]


def full_run():
    cases = planted()
    setups = (Setup(1, "fp32"), ZERO2, Setup(2, "fp16"), ZERO3, Setup(1, "bf16", bf16_optimizer=True),
              Setup(2, "bf16", round_robin=True), Setup(2, "bf16", aligned=True))
    for setup in setups:
        cases += [NoAlarm(setup, 4, setup, world) for world in (1, 3)]
        cases += [NoAlarm(setup, 4, Setup(stage, setup.precision), 2) for stage in (1, 2, 3) if stage != setup.stage]
        cases += [NoAlarm(setup, 4, setup, 0, "universal")]
    plain = (("odd_names", universal.PLAIN_NAMES[1]),)  # its converter loses the moments of other names
    cases += [NoAlarm(setup, 4, setup, 0, "stock universal")
              for setup in (Setup(1, "fp32", shape=plain), Setup(2, "bf16", shape=plain))]
    cases += [LostByStock(ZERO2, 4)]
    ordered = Setup(2, "bf16", round_robin=True, shape=plain)
    cases += [ScrambledByStock(ordered, world) for world in (2, 3)]
    cases += [NoAlarm(Setup(1, "fp32"), 4, Setup(0, "fp32"), 2), NoAlarm(ZERO2, 4, Setup(0, "bf16"), 2)]
    return cases
