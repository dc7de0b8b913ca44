# SPDX-License-Identifier: Apache-2.0
"""`convert --to dcp`, loaded by stock torch.distributed.checkpoint into new tensors, and into a model and an optimizer
of torch's own, compared with what the live engine held when it saved."""

import warnings
from dataclasses import dataclass

import torch

from cases import export, parallel, stage0
from cases.universal import stage_options
from compare import checks
from compare.live_state import plain
from runs import ranks, setups, universal
from runs.model import build_model, split_parameters
from runs.parallel_setups import ParallelSetup
from runs.setups import Setup


def _load(state, folder):
    from torch.distributed import checkpoint
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the single process
        checkpoint.load(state, checkpoint_id=folder, no_dist=True)


def _keys(folder):
    from torch.distributed.checkpoint import FileSystemReader
    return FileSystemReader(folder).read_metadata().state_dict_metadata


def _bytes(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


class Loaded:
    """Loads all of a folder into a nested state dict of new tensors."""

    def __init__(self, folder):
        self.state = {"model": {}, "optim": {"state": {}, "param_groups": []}}
        keys = _keys(folder)
        groups = self.state["optim"]["param_groups"]
        for key, entry in keys.items():
            blank = torch.full(tuple(entry.size), 7).to(entry.properties.dtype) if hasattr(entry, "size") else None
            if key.startswith("model."):
                self.state["model"][key.removeprefix("model.")] = blank
            elif key.startswith("optim.state."):
                name, _, kind = key.removeprefix("optim.state.").rpartition(".")
                self.state["optim"]["state"].setdefault(name, {})[kind] = blank
            elif key.startswith("optim.param_groups."):
                index, _, option = key.removeprefix("optim.param_groups.").partition(".")
                while len(groups) <= int(index):
                    groups.append({})
                groups[int(index)][option] = blank
            else:
                at = self.state
                *parts, last = key.split(".")
                for part in parts:
                    at = at.setdefault(part, {})
                at[last] = blank
        _load(self.state, folder)


def _check_states(loaded, live):
    """Every state of every parameter equals the live one, and there are no others."""
    optim = loaded.state["optim"]
    expected = {label: value for label, value in live.items()
                if isinstance(value, bytes) and "#" in label and not label.endswith("#fp32")}
    found = {f"{name}#{kind}": _bytes(tensor) for name, states in optim["state"].items()
             for kind, tensor in states.items() if kind != "step"}
    if found != expected:
        wrong = [label for label in found.keys() | expected.keys() if found.get(label) != expected.get(label)]
        raise checks.Failure(f"other states than the engine held: {sorted(wrong)[:5]}")
    steps = 0
    for name, states in optim["state"].items():
        step = live.get(f"scalar {name} step")
        if (step is None) != ("step" not in states):
            raise checks.Failure(f"{name} has a step where the engine has none, or none where it has one")
        if step is not None:
            value = float(states["step"])
            kept = (plain(torch.tensor(value)), plain(int(value)), plain(value))
            if step not in kept:
                raise checks.Failure(f"{name} has step {value}, not {step}")
            steps += 1
    return len(found) + steps


def _check_groups(loaded, live):
    count = 0
    for index, group in enumerate(loaded.state["optim"]["param_groups"]):
        expected = {label.removeprefix(f"scalar group {index} "): value for label, value in live.items()
                    if label.startswith(f"scalar group {index} ")}
        found = {key: plain(value) for key, value in group.items() if key != "params"}
        if any(found.get(key) != value for key, value in expected.items() if key in found) or not found:
            raise checks.Failure(f"group {index} has other options than the engine: {found}")
        names = {label.removeprefix("group of ") for label, value in live.items()
                 if label.startswith("group of ") and value == index}
        if set(group["params"]) != names:
            raise checks.Failure(f"group {index} has other parameters: {sorted(set(group['params']) ^ names)[:5]}")
        count += len(found)
    return count


@dataclass(frozen=True)
class Distributed:
    """Save, convert, load: bit-equal masters, states, steps and options."""
    setup: Setup
    world: int

    @property
    def name(self):
        return f"dcp {self.setup.name} {self.world}{' with an empty parameter' if self.setup.shape else ''}"

    def run(self, context):
        source = context.sources.get(self.setup, self.world)
        target = context.target(self.name)
        answer = context.tool.call("convert", source.folder, target, "--to", "dcp")
        if not answer["result"]["verified"] or answer["plan"]["kind"] != "dcp":
            raise checks.Failure("the conversion was not verified")
        report = context.tool.call("diff", source.folder, target)
        if report["verdict"] not in ("same-training-state", "different-in-padding") or report["causes"]:
            raise checks.Failure(f"it differs from its source: {report['verdict']} {report['differences'][:3]}")
        prints = [context.tool.call("fingerprint", folder)["fingerprint"] for folder in (source.folder, target)]
        if prints[0] != prints[1] or not context.tool.call("verify", target, "--against", source.folder)["ok"]:
            raise checks.Failure(f"it has another fingerprint than its source: {prints}")
        loaded = Loaded(target)
        live = export._live(source.state)
        model = dict(loaded.state["model"])
        names = set(export._module_names(source.folder))
        if set(model) != names:
            raise checks.Failure(f"other names than the model's: {sorted(set(model) ^ names)[:5]}")
        for name in names - live.keys():  # tied: the other name of a parameter
            if not any(_bytes(model[name]) == _bytes(model[other]) for other in live):
                raise checks.Failure(f"{name} is tied to nothing")
            del model[name]
        count = 0
        for name, (master, weight) in live.items():
            if not export._same(model[name], weight if master is None else master):
                raise checks.Failure(f"{name} is not what the engine held")
            count += 1
        count += _check_states(loaded, source.state)
        options = _check_groups(loaded, source.state)
        for key in ("global_steps", "global_samples", "skipped_steps"):
            if plain(loaded.state["deepspeed"][key]) != source.state[f"scalar {key}"]:
                raise checks.Failure(f"{key} is not what the engine held")
        note = f"{count} tensors bit-equal, {options} options equal"
        if self.setup.optimizer == "adamw" and not self.setup.shape:
            note += f", {self._check_torch(context, target, source)} states in torch's own optimizer"
            note += f", {self._check_merged(context, target, loaded)} values in one torch file"
        return note

    def _check_torch(self, context, target, source):
        """get_state_dict() of a model and an optimizer that never saw DeepSpeed, loaded and set."""
        from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
        model = build_model(99)
        optimizer = torch.optim.AdamW(setups.optimizer_groups(self.setup, *split_parameters(model)), lr=1e-3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            weights, states = get_state_dict(model, optimizer)
            nested = {"model": weights, "optim": states}
            _load(nested, target)
            set_state_dict(model, optimizer, model_state_dict=nested["model"], optim_state_dict=nested["optim"])
        count = 0
        for name, parameter in model.named_parameters():
            for kind, tensor in optimizer.state.get(parameter, {}).items():
                expected = source.state.get(f"{name}#{kind}")
                if kind != "step" and _bytes(tensor) != expected:
                    raise checks.Failure(f"{name}#{kind} has another value in torch's optimizer")
                count += kind != "step"
            master = source.state.get(f"{name}#fp32")
            if master is not None and _bytes(parameter.detach()) != master:
                raise checks.Failure(f"{name} came to torch's model as another")
        for index, group in enumerate(optimizer.param_groups):
            if plain(group["lr"]) != source.state[f"scalar group {index} lr"]:
                raise checks.Failure(f"group {index} came to torch's optimizer with another lr")
        return count

    def _check_merged(self, context, target, loaded):
        """torch's own tool converts all of it to one file, which loads with torch only."""
        from torch.distributed.checkpoint.format_utils import dcp_to_torch_save
        path = context.work / "merged.pt"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dcp_to_torch_save(target, path)
        merged = torch.load(path, weights_only=False)
        path.unlink()
        for name, tensor in loaded.state["model"].items():
            if not export._same(merged["model"][name], tensor):
                raise checks.Failure(f"dcp_to_torch_save finds another {name}")
        if plain(merged["optim"]["param_groups"]) != plain(loaded.state["optim"]["param_groups"]):
            raise checks.Failure("dcp_to_torch_save finds other param groups")
        return len(loaded.state["model"])


@dataclass(frozen=True)
class MergedParts:
    """Merged slices and stages, single experts: the model's values equal the export's."""
    setup: ParallelSetup
    world: int
    frameworks = True

    @property
    def name(self):
        return f"dcp {self.setup.name} {self.world}"

    def run(self, context):
        source = parallel.source_of(context, self.setup, self.world)
        target = context.target(self.name)
        context.tool.call("convert", source.folder, target, "--to", "dcp")
        model = Loaded(target).state["model"]
        live = export._one_slice(export._live(source.state),
                                       {name: tensor.shape for name, tensor in model.items()})
        for name, (master, weight) in live.items():
            if not export._same(model[name], weight if master is None else master):
                raise checks.Failure(f"{name} is not what the engine held")
        return f"{len(live)} tensors bit-equal"


@dataclass(frozen=True)
class Back:
    """Converted, and resharded from there: stock DeepSpeed has the source's whole state again, and continues training.
    `saved_again`: between the two, torch loads it and saves it sharded by rows, every mapping flattened."""
    setup: Setup
    before: int
    native: Setup
    after: int
    saved_again: int = 0

    @property
    def name(self):
        return f"dcp {self.setup.name} {self.before}->native {self.native.name} {self.after}" + \
            (f" saved again by {self.saved_again}" if self.saved_again else "")

    def run(self, context):
        source = context.sources.get(self.setup, self.before)
        folder, target = context.target(f"{self.name} dcp"), context.target(self.name)
        context.tool.call("convert", source.folder, folder, "--to", "dcp")
        if self.saved_again:
            again = context.target(f"{self.name} again")
            ranks.run_ranks(self.saved_again, _saved_again, str(folder), str(again), log_path=context.sources.log)
            folder = again
            if not context.tool.call("verify", folder, "--against", source.folder)["ok"]:
                raise checks.Failure("what torch saved again is not the same training state")
        context.tool.reshard(folder, target, self.after, *stage_options(self.native))
        if not context.tool.call("verify", target, "--against", source.folder)["ok"]:
            raise checks.Failure("verify does not accept what reshard wrote")
        state, losses, client = context.sources.resume(self.native, self.after, target)
        if 0 in (self.setup.stage, self.native.stage):
            tensors = checks.same_state_but(stage0.comparable(source.state, self.setup),
                                            stage0.comparable(state, self.native), {})
            stage0.check_scaling(source.state, self.setup, state, self.native)
        else:
            tensors = checks.same_state_but(source.state, state, universal.scaler_changes(self.setup, self.native))
        checks.same_client_state(client)
        deviation = checks.losses_track(source.losses, losses, checks.TOLERANCE[self.native.precision])
        return f"{tensors} tensors bit-equal, loss deviation {deviation:.1e}"


def _saved_again(rank, world, folder, target):
    """Tensors with rows are split over the ranks, as FSDP does; others are saved by one rank."""
    from torch.distributed import checkpoint
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor
    mesh = init_device_mesh("cpu", (world,))

    def cut(value):
        if isinstance(value, dict):
            return {key: cut(one) for key, one in value.items()}
        if isinstance(value, torch.Tensor) and value.dim() > 0:
            return distribute_tensor(value, mesh, [Shard(0)])
        return value

    state = Loaded(folder).state
    checkpoint.save({**state, "model": cut(state["model"]),
                     "optim": {**state["optim"], "state": cut(state["optim"]["state"])}}, checkpoint_id=target)


def _sharded(rank, world, folder):
    """Saves the same as FSDP: tensors split by rows over the ranks, with few or no rows on some ranks, steps,
    groups."""
    from torch.distributed import checkpoint
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor
    mesh = init_device_mesh("cpu", (world,))
    whole = _whole()
    state = {"model": {}, "optim": {"state": {}, "param_groups": [{"lr": 0.5, "params": list(whole)[:-1]}]}}
    for name, tensors in whole.items():
        cut = {kind: tensor if tensor.dim() == 0 else distribute_tensor(tensor, mesh, [Shard(0)])
               for kind, tensor in tensors.items()}
        state["model"][name] = cut.pop("weight")
        if cut:
            state["optim"]["state"][name] = cut
    checkpoint.save(state, checkpoint_id=folder)


def _boxed(rank, world, folder):
    """Saves the same as FSDP with tensor parallelism: every matrix is split into boxes in two dimensions, moments in
    another order of dimensions than their weight."""
    from torch.distributed import checkpoint
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    mesh = init_device_mesh("cpu", (2, world // 2), mesh_dim_names=("dp", "tp"))
    line = init_device_mesh("cpu", (world,))
    state = {"model": {}, "optim": {"state": {}, "param_groups": [{"lr": 0.5, "params": list(_whole())[:-1]}]}}
    for name, tensors in _whole().items():
        cut = {}
        for kind, tensor in tensors.items():
            if tensor.dim() > 1:
                cut[kind] = distribute_tensor(tensor, mesh, [Shard(0), Shard(1)]) if kind != "exp_avg" else \
                    distribute_tensor(tensor, line, [Shard(1)])
            else:
                cut[kind] = distribute_tensor(tensor, mesh, [Replicate(), Shard(0)]) if tensor.dim() else tensor
        state["model"][name] = cut.pop("weight")
        if cut:
            state["optim"]["state"][name] = cut
    checkpoint.save(state, checkpoint_id=folder)


def _whole():
    """Name → kind → tensor, the same in every process. The last one is frozen."""
    generator = torch.Generator().manual_seed(11)
    out = {}
    for name, shape in {"a.weight": (5, 3), "b": (7,), "wide": (2, 3, 4), "even": (6, 2), "one": (1, 4)}.items():
        out[name] = {kind: torch.randn(shape, generator=generator) for kind in ("weight", "exp_avg", "exp_avg_sq")}
        out[name]["exp_avg_sq"].square_()
        out[name]["step"] = torch.tensor(4.0)
    out["frozen"] = {"weight": torch.randn((3, 2), generator=generator).to(torch.bfloat16)}
    return out


@dataclass(frozen=True)
class FromTorch:
    """Sharded tensors of stock dcp.save are read bit for bit. Other values that DeepSpeed's files need are missing, and
    are requested by name."""
    world: int
    boxes: bool = False

    @property
    def name(self):
        return f"dcp from torch {self.world}{' in boxes' if self.boxes else ''}"

    def run(self, context):
        import numpy
        from safetensors.torch import load_file

        folder, target = context.target(f"{self.name} saved"), context.target(self.name)
        ranks.run_ranks(self.world, _boxed if self.boxes else _sharded, str(folder), log_path=context.sources.log)
        report = context.tool.call("inspect", folder)
        if report["kind"] != "dcp" or not report["supported"] or report["findings"]:
            raise checks.Failure(f"it is read as {report['kind']} with {report['findings']}")
        if report["step"]["optimizer"] != [4]:
            raise checks.Failure(f"other steps than were saved: {report['step']}")
        context.tool.call("export", folder, target, "--format", "safetensors", "--states", "exp_avg,exp_avg_sq")
        whole, count = _whole(), 0
        files = {"weight": "model", "exp_avg": "exp_avg", "exp_avg_sq": "exp_avg_sq"}
        for kind, file in files.items():
            found = load_file(target / f"{file}.safetensors")
            expected = {name: tensors[kind] for name, tensors in whole.items() if kind in tensors}
            if found.keys() != expected.keys():
                raise checks.Failure(f"other tensors than were saved: {sorted(found)}")
            for name, tensor in expected.items():
                if not export._same(found[name], tensor):
                    raise checks.Failure(f"{name} ({kind}) is read as another")
                count += 1
        array = context.work / "one.npy"
        context.tool.call("show", folder, "a.weight#exp_avg", "--npy", array, "--force")
        if not numpy.array_equal(numpy.load(array), whole["a.weight"]["exp_avg"].numpy()):
            raise checks.Failure("show finds other elements")
        if not context.tool.call("verify", folder)["ok"]:
            raise checks.Failure("verify finds fault with what torch saved")
        refused = context.tool.call("reshard", folder, context.target(f"{self.name} native"), "--world-size", 2,
                                    "--stage", 2, expect=6)["message"]
        if "deepspeed.ds_version" not in refused or "deepspeed.native_form" not in refused:
            raise checks.Failure(f"what is not there is not named: {refused}")
        return f"{count} tensors bit-equal"


def short_run():
    return [Distributed(Setup(2, "bf16"), 3), Distributed(Setup(3, "fp16", sub_group_size=200), 2),
            FromTorch(2), FromTorch(4, boxes=True), Back(Setup(2, "bf16"), 3, Setup(3, "bf16", sub_group_size=200), 2)]


def full_run():
    return short_run() + [
        FromTorch(1), FromTorch(3), FromTorch(4), FromTorch(2, boxes=True),
        Back(Setup(3, "fp16", sub_group_size=200), 2, Setup(2, "fp16"), 3),
        Back(Setup(1, "fp32"), 3, Setup(1, "fp32"), 2), Back(Setup(2, "bf16", round_robin=True), 3,
                                                             Setup(2, "bf16", round_robin=True), 2),
        Back(Setup(2, "bf16", "sgd"), 2, Setup(1, "bf16", "sgd"), 3),
        Back(Setup(0, "bf16"), 2, Setup(2, "bf16"), 3), Back(Setup(2, "bf16"), 2, Setup(0, "bf16"), 2),
        Back(Setup(2, "fp16"), 3, Setup(2, "fp16"), 2, saved_again=2),
        Distributed(Setup(1, "bf16"), 2), Distributed(Setup(1, "fp32"), 3), Distributed(Setup(2, "fp16"), 2),
        Distributed(Setup(2, "fp32"), 1), Distributed(Setup(3, "bf16"), 4), Distributed(Setup(3, "fp32"), 2),
        Distributed(Setup(2, "bf16", round_robin=True), 3), Distributed(Setup(2, "bf16", aligned=True), 2),
        Distributed(Setup(1, "bf16", bf16_optimizer=True), 2), Distributed(Setup(0, "fp32"), 2),
        Distributed(Setup(0, "bf16"), 2), Distributed(Setup(2, "bf16", "sgd"), 2),
        Distributed(Setup(3, "bf16", "lion", offload=True), 2),
        Distributed(Setup(2, "bf16", shape=(("empty_parameter", True),)), 3),
        MergedParts(ParallelSetup("slices", 1, "bf16"), 4), MergedParts(ParallelSetup("experts", 2, "bf16"), 4),
        MergedParts(ParallelSetup("pipeline", 1, "bf16"), 4)]
