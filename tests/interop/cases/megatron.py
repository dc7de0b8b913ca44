# SPDX-License-Identifier: Apache-2.0
"""Tensor slices that are merged by patterns: recorded in the checkpoint, or given in a file."""

import json
from dataclasses import dataclass, replace

import torch

from cases import parallel
from compare import checks
from runs import megatron, parallel_models, universal


def _tensor(dtype, shape, data):
    kind = getattr(torch, dtype.removeprefix("torch."))
    return torch.frombuffer(bytearray(data), dtype=kind).reshape(shape)


def _whole(state, rows):
    """The state of one engine without slices, with its embedding without padding."""
    out, made = {}, {}
    degree = 1 + max(int(label.rpartition(":tp")[2][:1]) for label in state if ":tp" in label)
    for label, value in state.items():
        if ":tp" not in label:
            out[label] = value
            continue
        if ":tp0" not in label:
            continue
        plain = label.replace(":tp0", "")
        values = [state[label.replace(":tp0", f":tp{slice}")] for slice in range(degree)]
        name = plain.removeprefix("weight ").removeprefix("elements of ").split("#")[0]
        shapes = [state[f"weight {name}:tp{slice}"][1] for slice in range(degree)] \
            if isinstance(value, bytes) or label.startswith("weight ") else []
        if not shapes:
            out[plain] = value
            continue
        dtype = value[0] if label.startswith("weight ") else state[f"dtype of {label}"]
        data = [one[2] for one in values] if label.startswith("weight ") else values
        whole = megatron.merged(name, [_tensor(dtype, shape, one) for shape, one in zip(shapes, data)])
        if "word_embeddings" in name:
            whole = whole[:rows]
        made[name] = whole.numel()
        raw = whole.contiguous().view(torch.uint8).numpy().tobytes()
        out[plain] = (dtype, tuple(whole.shape), raw) if label.startswith("weight ") else raw
    out.update((f"elements of {name}", count) for name, count in made.items())
    return out


def _patterns_file(context, setup, name):
    if setup.recorded:
        return []
    rows = parallel_models.VOCABULARY
    path = context.work / "patterns" / f"{name}.json".replace(" ", "_").replace(">", "")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(megatron.universal_info(rows, rows + setup.padding, setup.stages > 0)))
    return ["--patterns", path]


@dataclass(frozen=True)
class MergeByPatterns:
    """Trained in slices, loaded by an engine without: the state is equal bit for bit, and the losses continue."""
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
        source = parallel.source_of(context, self.setup, self.before)
        target = context.target(self.name)
        options = _patterns_file(context, self.setup, self.name)
        if self.universal:
            context.tool.convert(source.folder, target, *options)
        else:
            context.tool.reshard(source.folder, target, self.after, "--tp", 1, "--stage", self.stage, *options)
        one = replace(self.setup, degree=1, stages=min(1, self.setup.stages), stage=self.stage, padding=0,
                      universal=self.universal)
        whole = _whole(source.state, parallel_models.VOCABULARY)
        ignored = parallel.KEPT_WITH_ZERO if self.stage and not self.setup.stage else ()
        return parallel.continues_as(context, one, self.after, target, source, whole, ignored=ignored)


@dataclass(frozen=True)
class MergeLikeConverter:
    """Our universal folder holds what DeepSpeed's converter makes of the same checkpoint, tensor by tensor."""
    setup: object
    before: int

    @property
    def name(self):
        return f"parallel {self.setup.name} {self.before} like the converter"

    def run(self, context):
        source = parallel.source_of(context, self.setup, self.before)
        ours = universal.tool_convert(context, source.folder, context.target(self.name))
        stock = universal.stock_convert(context, source.folder, context.target(f"{self.name} stock"))
        folders = [folder / (folder / "latest_universal").read_text() / "zero" for folder in (ours, stock)]
        names = [sorted(str(path.relative_to(folder)) for path in folder.rglob("*.pt")) for folder in folders]
        if names[0] != names[1]:
            raise checks.Failure(f"files differ: {sorted(set(names[0]) ^ set(names[1]))[:8]}")
        tensors = 0
        for name in names[0]:
            if name in ("optimizer_state.pt",) or name.endswith("/step.pt"):
                continue
            mine, theirs = (torch.load(folder / name, weights_only=False) for folder in folders)
            if mine["param"].shape != theirs["param"].shape or not torch.equal(mine["param"], theirs["param"]):
                raise checks.Failure(f"{name} differs: {tuple(mine['param'].shape)}, {tuple(theirs['param'].shape)}")
            marks = [{key: value for key, value in one.items() if key not in ("param",)} for one in (mine, theirs)]
            marks[1].setdefault("cat_dim", 0)  # the loader's default
            if marks[0] != marks[1]:
                raise checks.Failure(f"{name}: {marks[0]} where the converter says {marks[1]}")
            tensors += 1
        return f"{tensors} tensors and what is said of them equal"


@dataclass(frozen=True)
class AskedByName:
    """Without patterns the names are requested; a missing name, and a pattern without matches, are refused."""
    setup: object
    before: int

    @property
    def name(self):
        return f"parallel {self.setup.name} {self.before} asks for patterns"

    def run(self, context):
        source = parallel.source_of(context, self.setup, self.before)
        target = context.target(self.name)

        def refusal(code, *options):
            answer = context.tool.call("convert", source.folder, target, "--to", "universal", *options, expect=code)
            return answer["message"]

        said = refusal(4)
        if "`layers.0.query_key_value.weight`" not in said:
            raise checks.Failure(f"the names are not asked for: {said}")
        file = _patterns_file(context, self.setup, self.name)
        patterns = json.loads(file[1].read_text())
        patterns["tp_replicated_parameter_patterns"].remove("head")
        file[1].write_text(json.dumps(patterns))
        said = refusal(6, *file)
        if "`head.weight`" not in said or "dense" in said:
            raise checks.Failure(f"copies that no pattern names are not found: {said}")
        patterns["tp_replicated_parameter_patterns"] += ["head", "no_such_name"]
        file[1].write_text(json.dumps(patterns))
        said = refusal(2, *file)
        if "no_such_name" not in said:
            raise checks.Failure(f"a pattern of nothing is taken: {said}")
        return "names asked for, copies found, a useless pattern refused"
