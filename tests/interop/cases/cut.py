# SPDX-License-Identifier: Apache-2.0
"""Another number of tensor slices, more than one: split by patterns, or by AutoTP's record."""

import json
from dataclasses import dataclass, replace

import torch

from cases import megatron as megatron_cases
from cases import parallel
from compare import checks
from runs import megatron, parallel_models

AUTOTP_PATTERNS = {
    "parameter_with_row_parallelism_patterns": [r"layers\.\d+\.down_proj\.weight"],
    "tp_replicated_parameter_patterns": ["embed", "head", r"layers\.\d+\.(norm|down_proj\.bias)"],
}


def _autotp_cut(name, whole, degree, part):
    if "up_proj" in name:
        return whole.chunk(degree, dim=0)[part]
    return whole.chunk(degree, dim=1)[part] if name.endswith("down_proj.weight") else whole


def _bytes(tensor):
    return tensor.contiguous().view(torch.uint8).numpy().tobytes()


def _cut_state(state, setup):
    """The state of engines of `setup`, from a state without slices: padding rows of the embedding are zero."""
    own = setup.kind == "megatron"
    names = {label.removeprefix("elements of ") for label in state if label.startswith("elements of ")}
    names |= {label.removeprefix("weight ") for label in state if label.startswith("weight ")}
    shapes = {name: state[f"weight {name}"][1] for name in names}

    def sliced(name, dtype, data, part):
        whole = megatron_cases._tensor(dtype, shapes[name], data)
        if own and "word_embeddings" in name:
            rows = parallel_models.VOCABULARY
            whole = torch.cat([whole[:rows], whole.new_zeros((setup.padding, *whole.shape[1:]))])
        if setup.degree == 1:
            return whole
        return (megatron.cut if own else _autotp_cut)(name, whole, setup.degree, part)

    out = {}
    for label, value in state.items():
        name = label
        for prefix in ("weight ", "elements of ", "dtype of ", "group of ", "scalar "):
            name = name.removeprefix(prefix)
        name = name.split("#")[0].split(" ")[0]
        if name not in names:
            out[label] = value
            continue
        for part in range(setup.degree):
            new = label.replace(name, f"{name}:tp{part}", 1) if setup.degree > 1 else label
            if label.startswith("weight "):
                tensor = sliced(name, value[0], value[2], part)
                out[new] = (value[0], tuple(tensor.shape), _bytes(tensor))
            elif label.startswith("elements of "):
                dtype, _, data = state[f"weight {name}"]
                out[new] = sliced(name, dtype, data, part).numel()
            elif isinstance(value, bytes):
                out[new] = _bytes(sliced(name, state[f"dtype of {label}"], value, part))
            else:
                out[new] = value
    return out


def _whole(source, setup):
    if setup.degree == 1:
        return source.state
    if setup.kind == "slices":
        return parallel._merged(source.state)
    return megatron_cases._whole(source.state, parallel_models.VOCABULARY)


def _model_file(folder):
    tag = (folder / "latest").read_text().strip()
    file = sorted((folder / tag).glob("*mp_rank_01_model_states.pt"))[0]
    return torch.load(file, weights_only=False)


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


@dataclass(frozen=True)
class SplitSlices:
    """Trained in one number of slices, loaded by engines of another, which hold the same state bit for bit and continue
    the same. With `like_stock` the model file equals that of a run with the new number of slices."""
    setup: object
    before: int
    after: int
    degree: int
    stage: int
    padding: int = 0  # of the target
    like_stock: bool = False

    @property
    def name(self):
        padding = f" padding{self.padding}" if self.padding else ""
        return f"parallel {self.setup.name} {self.before}->{self.after} slices{self.degree} zero{self.stage}{padding}"

    def _options(self, context):
        options = ["--tp", self.degree, "--stage", self.stage]
        if self.setup.padding or self.padding:
            options += ["--padded-vocab-size", parallel_models.VOCABULARY + self.padding]
        if self.setup.kind == "megatron":
            return options, megatron_cases._patterns_file(context, self.setup, self.name)
        if self.setup.degree > 1:
            return options, []
        path = context.work / "autotp-patterns.json"
        path.write_text(json.dumps(AUTOTP_PATTERNS))
        return options, ["--patterns", path]

    def run(self, context):
        source = parallel.source_of(context, self.setup, self.before)
        target = context.target(self.name)
        options, patterns = self._options(context)
        context.tool.reshard(source.folder, target, self.after, *options, *patterns)
        verified = context.tool.call("verify", target, "--against", source.folder, *patterns)
        if not verified["ok"]:
            raise checks.Failure(f"verify finds other values than the source's: {verified['problems']}")
        new = replace(self.setup, degree=self.degree, stage=self.stage, padding=self.padding)
        said = parallel.continues_as(context, new, self.after, target, source,
                                         _cut_state(_whole(source, self.setup), new))
        if self.like_stock:
            self._same_facts(_model_file(target), _model_file(parallel.source_of(context, new, self.after).folder))
            said += ", facts as stock's"
        return said

    def _same_facts(self, ours, stock):
        if set(ours) != set(stock):
            raise checks.Failure(f"keys differ: {set(ours) ^ set(stock)}")
        for key in ("universal_checkpoint_info", "param_shapes", "mp_world_size", "dp_world_size", "shared_params",
                    "checkpoint_parallel_dimensions", "buffer_names", "frozen_param_shapes"):
            if _plain(ours.get(key)) != _plain(stock.get(key)):
                raise checks.Failure(f"{key}: {ours.get(key)} where stock says {stock.get(key)}")
        shapes = [{name: (value.dtype, value.shape) for name, value in one["module"].items()} for one in (ours, stock)]
        if shapes[0] != shapes[1]:
            raise checks.Failure("the modules' shapes or types differ")


@dataclass(frozen=True)
class SplitLikeUniversal:
    """Masters and optimizer states equal those of a universal load with the same number of slices."""
    setup: object
    before: int
    after: int
    degree: int
    padding: int = 0

    @property
    def name(self):
        return f"parallel {self.setup.name} {self.before}->{self.after} slices{self.degree} like a universal load"

    def run(self, context):
        source = parallel.source_of(context, self.setup, self.before)
        cut = SplitSlices(self.setup, self.before, self.after, self.degree, self.setup.stage, self.padding)
        options, patterns = cut._options(context)
        folders = [context.target(f"{self.name} {form}") for form in ("native", "universal")]
        context.tool.reshard(source.folder, folders[0], self.after, *options, *patterns)
        context.tool.convert(source.folder, folders[1], *patterns)
        new = replace(self.setup, degree=self.degree, padding=self.padding)
        states = []
        for folder, setup in zip(folders, (new, replace(new, universal=True))):
            answers = parallel.ranks.run_ranks(self.after, parallel.load_and_train, setup, str(folder),
                                                     log_path=context.sources.log)
            state = parallel.live_state.merge([answer[0] for answer in answers])
            states.append({label: value for label, value in state.items() if isinstance(value, bytes)})
        return f"{checks.same_state(*states)} tensors bit-equal"
