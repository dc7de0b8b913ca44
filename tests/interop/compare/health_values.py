# SPDX-License-Identifier: Apache-2.0
"""What `stats --health` must say of a tag: a reading of stock DeepSpeed's files that shares no code with shardscope, and
the values of every layer in double precision."""

import re
from dataclasses import dataclass
from pathlib import Path

import torch

KNOWN = ("exp_avg", "exp_avg_sq", "momentum_buffer", "sum")


def layer_of(name):
    """Up to the first component that is a number, else the module."""
    parts = name.split(".")
    for index, part in enumerate(parts):
        if part.isdigit():
            return ".".join(parts[:index + 1])
    return ".".join(parts[:-1]) or name


def _load(path):
    return torch.load(path, weights_only=False, map_location="cpu")


def _rank_of(path):
    return int(re.search(r"zero_pp_rank_(\d+)_", path.name)[1])


@dataclass
class Span:
    """Elements of a parameter in one rank's flat tensors."""
    rank: int
    group: int  # of flat tensors: a group of parameters, or a sub-group of ZeRO-3
    start: int
    count: int


class Tag:
    """The files of one tag, and where each parameter is in them. `groups`: names in the order that the optimizer got
    them; needed without ZeRO, whose files do not record it."""

    def __init__(self, folder, groups=None):
        self.folder = Path(folder)
        self.optim_paths = sorted(self.folder.glob("*zero_pp_rank_*_optim_states.pt"), key=_rank_of)
        plain = self.folder / "mp_rank_00_model_states.pt"
        self.model_path = plain if plain.exists() else self.folder / "zero_pp_rank_0_mp_rank_00_model_states.pt"
        self.model = _load(self.model_path)
        self.optims = [_load(path)["optimizer_state_dict"] for path in self.optim_paths]
        self.groups = groups
        self.stage = self.optims[0].get("zero_stage", 1) if self.optims else 0  # BF16_Optimizer does not record it
        if self.stage == 3:
            self._place_parts()
        elif self.optims:
            self._place_slices()
        else:
            self._place_plain()
        self.frozen = self._find_frozen()

    @property
    def names(self):
        return [*self.spans, *self.frozen]

    @property
    def world(self):
        return max(1, len(self.optims))

    def _shapes(self):
        return [{name: tuple(shape) for name, shape in shapes.items()} for shapes in self.model["param_shapes"]]

    def _place_slices(self):
        """ZeRO-1 and 2: a group's parameters one after the other, cut into equal partitions."""
        self.spans, self.shapes, self.group_of = {}, {}, {}
        for group, shapes in enumerate(self._shapes()):
            size, at = self._masters(0)[group].numel(), 0
            for name, shape in shapes.items():
                count = torch.Size(shape).numel()
                self.spans[name] = [Span(rank, group, max(at, rank * size) - rank * size,
                                         min(at + count, (rank + 1) * size) - max(at, rank * size))
                                    for rank in range(self.world)
                                    if max(at, rank * size) < min(at + count, (rank + 1) * size)]
                self.shapes[name], self.group_of[name] = shape, group
                at += count

    def _place_parts(self):
        """ZeRO-3: every rank has an equal part of every parameter, the last ones with padding."""
        self.spans, self.shapes, self.group_of = {}, {}, {}
        for group, shapes in enumerate(self._shapes()):
            at = 0
            for name, shape in shapes.items():
                count = torch.Size(shape).numel()
                part = -(-count // self.world)
                self.spans[name] = [Span(rank, group, at, min(part, count - rank * part))
                                    for rank in range(self.world) if rank * part < count]
                self.shapes[name], self.group_of[name] = shape, group
                at += part
        self.group_of = {name: index for index, names in enumerate(self.groups) for name in names} or self.group_of

    def _place_plain(self):
        """Without ZeRO: each parameter's own tensors, or a group's flat ones."""
        self.spans, self.shapes, self.group_of, self.index = {}, {}, {}, {}
        flat = "fp32_groups_flat" in self.model["optimizer"]
        index = 0
        for group, names in enumerate(self.groups):
            at = 0
            for name in names:
                shape = tuple(self.model["module"][name].shape)
                count = torch.Size(shape).numel()
                self.spans[name] = [Span(0, group, at, count) if flat else Span(0, index, 0, count)]
                self.shapes[name], self.group_of[name] = shape, group
                at, index = at + count, index + 1

    def _masters(self, rank):
        if self.stage == 3:
            return self.optims[rank]["fp32_flat_groups"]
        if self.optims:
            return self.optims[rank]["single_partition_of_fp32_groups"]
        optimizer = self.model["optimizer"]
        if "fp32_groups_flat" in optimizer:
            return optimizer["fp32_groups_flat"]
        if "fp32_groups" in optimizer:
            return [tensor for group in optimizer["fp32_groups"] for tensor in group]
        return [self.model["module"][name] for names in self.groups for name in names]

    def _optimizer(self, rank):
        if self.stage == 3:
            return self.optims[rank]["optimizer_state_dict"]
        if self.optims:
            return self.optims[rank]["base_optimizer_state"]
        return self.model["optimizer"].get("optimizer_state_dict", self.model["optimizer"])

    @property
    def options(self):
        return self._optimizer(0)["param_groups"]

    def flat(self, span, state):
        """The rank's tensor that holds this span, as one dimension; None if there is none. A change of it changes the
        file that save() writes."""
        if state == "fp32":
            return self._masters(span.rank)[span.group].detach().view(-1)
        found = self._optimizer(span.rank)["state"].get(span.group, {}).get(state)
        return found.view(-1) if isinstance(found, torch.Tensor) and found.numel() > 1 else None

    def part(self, span, state):
        flat = self.flat(span, state)
        return None if flat is None else flat[span.start:span.start + span.count]

    def step(self, name, rank=None):
        for span in self.spans.get(name, ()):
            if rank in (None, span.rank):
                found = self._optimizer(span.rank)["state"].get(span.group, {}).get("step")
                if found is None:
                    found = self.options[min(self.group_of[name], len(self.options) - 1)].get("step")
                return None if found is None else float(found)
        return None

    def set_steps(self, rank, of):
        """The counters of one rank become those of another tag's."""
        ours, theirs = self._optimizer(rank), of._optimizer(rank)
        for key, state in ours["state"].items():
            if "step" in state:
                state["step"] = theirs["state"][key]["step"]
        for group, other in zip(ours["param_groups"], theirs["param_groups"]):
            if "step" in other:
                group["step"] = other["step"]

    def states(self, name):
        if name in self.frozen:
            return ["weight"]
        return ["fp32", *(state for state in KNOWN if self.part(self.spans[name][0], state) is not None)]

    def value(self, name, state):
        if name in self.frozen:
            return self.frozen[name].double().view(-1)
        return torch.cat([self.part(span, state).detach().double() for span in self.spans[name]])

    def _find_frozen(self):
        """Parameters that are not trained have no masters. Without ZeRO-3 the module has them, among buffers and second
        names of trained parameters."""
        if self.stage != 3:
            module = self.model["module"]
            others = {*self.spans, *(self.model["buffer_names"] or ()), *dict(self.model["shared_params"] or {})}
            places = {module[name].data_ptr() for name in self.spans}
            return {name: weight for name, weight in module.items()
                    if name not in others and weight.data_ptr() not in places}
        parts = [_load(path)["frozen_param_fragments"] or {} for path in
                 sorted(self.folder.glob("zero_pp_rank_*_model_states.pt"), key=_rank_of)]
        return {name: torch.cat([part[name].view(-1) for part in parts])[:torch.Size(shape).numel()]
                for name, shape in (self.model["frozen_param_shapes"] or {}).items()}

    def put_weights(self, name):
        """The 16-bit copy becomes that of the masters, as after a step."""
        if self.stage != 3:
            weight = self.model["module"][name]
            if weight.data_ptr() != self._masters(0)[0].data_ptr():
                weight.copy_(self.value(name, "fp32").view(weight.shape).to(weight.dtype))

    def save(self, ranks=None):
        """`ranks`: whose optimizer files are written; all if not given."""
        for rank, path in enumerate(self.optim_paths):
            if ranks is None or rank in ranks:
                whole = _load(path)
                whole["optimizer_state_dict"] = self.optims[rank]
                torch.save(whole, path)
        if ranks is None:
            torch.save(self.model, self.model_path)


def rule_of(optimizer):
    if optimizer in ("adamw", "adam", "fusedadam", "cpuadam"):
        return "adam"
    return {"lion": "lion", "cpulion": "lion", "sgd": "sgd", "adagrad": "adagrad", "cpuadagrad": "adagrad"}[optimizer]


def _update_of_span(tag, name, span, rule):
    options = tag.options[min(tag.group_of[name], len(tag.options) - 1)]
    lr, states = options["lr"], tag.states(name)
    part = {state: tag.part(span, state).detach().double() for state in states}
    if rule == "sgd" and "momentum_buffer" in part:
        return lr * part["momentum_buffer"]
    if rule == "lion" and "exp_avg" in part:
        return lr * part["exp_avg"].sign()
    step = tag.step(name, span.rank)
    if rule != "adam" or "exp_avg_sq" not in part or not step:
        return None
    first, second = options["betas"]
    corrected = options.get("bias_correction", True)
    average = part["exp_avg"] / (1 - first ** step if corrected else 1)
    square = part["exp_avg_sq"] / (1 - second ** step if corrected else 1)
    return lr * average / (square.sqrt() + options["eps"])


def update(tag, name, rule):
    """The last change of a parameter by its optimizer's rule, without weight decay; None where that is not known. Each
    rank has its own count of steps."""
    parts = [_update_of_span(tag, name, span, rule) for span in tag.spans.get(name, ())]
    return None if not parts or any(part is None for part in parts) else torch.cat(parts)


def figures(value):
    finite = value[value.isfinite()]
    total, count = float((finite * finite).sum()), finite.numel()
    return {"read": value.numel(), "rms": (total / count) ** 0.5 if count else None, "l2": total ** 0.5,
            "zeros": int((value == 0).sum()), "nan": int(value.isnan().sum()), "inf": int(value.isinf().sum()),
            "min": float(finite.min()) if count else None, "max": float(finite.max()) if count else None}


def rows(tag, rule, key=layer_of):
    """{layer: {"states": {state: figures}, "update": {"rms", "ratio"} or None, …}}"""
    members = {}
    for name in tag.names:
        members.setdefault(key(name), []).append(name)
    out = {}
    for layer, names in members.items():
        states = {state: figures(torch.cat([tag.value(name, state) for name in names if state in tag.states(name)]))
                  for state in dict.fromkeys(state for name in names for state in tag.states(name))}
        pairs = [(name, found) for name in names if (found := update(tag, name, rule)) is not None]
        row = {"states": states, "update": None, "elements": sum(tag.value(name, "fp32").numel() for name in names),
               "step": max((step for name in names if (step := tag.step(name)) is not None), default=None)}
        if pairs:
            changed = torch.cat([found for _, found in pairs])
            weights = torch.cat([tag.value(name, "fp32") for name, _ in pairs])
            both = changed.isfinite() & weights.isfinite()
            changed, weights = figures(changed[both])["rms"], figures(weights[both])["rms"]
            row["update"] = {"rms": changed, "ratio": changed / weights if changed is not None and weights else None}
        out[layer] = row
    return out
