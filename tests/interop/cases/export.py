# SPDX-License-Identifier: Apache-2.0
"""Compares the output of `export` with what the live engine held when it saved, torch's own casts, DeepSpeed's own
merge, the writers of safetensors and transformers, and transformers' reader."""

import json
from dataclasses import dataclass

import torch

from cases import parallel
from compare import checks
from runs import ranks, wrappers
from runs.parallel_setups import ParallelSetup
from runs.setups import Setup
from runs.wrappers import SAVED_AT, Wrapped

CASTS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "fp8_e4m3": torch.float8_e4m3fn,
         "fp8_e5m2": torch.float8_e5m2}


def _tensor(dtype, shape, data):
    dtype = getattr(torch, dtype.removeprefix("torch."))
    return (torch.frombuffer(bytearray(data), dtype=dtype) if data else torch.empty(0, dtype=dtype)).reshape(shape)


def _live(state):
    """Name → (master or None, weight) of a merged live state."""
    out = {}
    for label, value in state.items():
        if label.startswith("weight "):
            name = label.removeprefix("weight ")
            weight = _tensor(*value)
            master = state.get(f"{name}#fp32")
            out[name] = (master if master is None else _tensor(state[f"dtype of {name}#fp32"], weight.shape, master),
                         weight)
    return out


def _one_slice(live, shapes):
    """Merges the tensors of slices or stages: a tied parameter, or slices concatenated along the dimension in which
    they are shorter than the whole."""
    parts = {}
    for name, tensors in live.items():
        base, colon, rank = name.rpartition(":")
        parts.setdefault(base if colon else name, []).append((rank, tensors))
    out = {}
    for name, found in parts.items():
        held = [tensors for _, tensors in sorted(found, key=lambda entry: entry[0])]
        out[name] = tuple(_merged([pair[index] for pair in held], shapes.get(name)) for index in (0, 1))
    return out


def _merged(tensors, shape):
    if tensors[0] is None or shape is None or tuple(tensors[0].shape) == tuple(shape):
        return tensors[0]
    dimension = next(i for i, (part, whole) in enumerate(zip(tensors[0].shape, shape, strict=True)) if part != whole)
    return torch.cat(tensors, dimension)


def _same(left, right):
    return (left.dtype == right.dtype and left.shape == right.shape
            and torch.equal(left.reshape(-1).view(torch.uint8) if left.numel() else left.new_empty(0),
                            right.reshape(-1).view(torch.uint8) if right.numel() else right.new_empty(0)))


def _check_values(found, live, cast):
    """Every tensor equals the live master (or weight) in torch's own cast, bit for bit."""
    if found.keys() != live.keys():
        raise checks.Failure(f"other names than the live model's: {sorted(found.keys() ^ live.keys())[:8]}")
    for name, (master, weight) in live.items():
        own = weight.dtype if cast is None else cast
        expected = (weight if master is None else master)
        if expected.is_floating_point():
            expected = expected.to(own)
        if not _same(found[name], expected):
            raise checks.Failure(f"{name} is not the live {'weight' if master is None else 'master'} as {own}")
    return len(live)


def _load(folder):
    from safetensors.torch import load_file
    return load_file(folder / "model.safetensors")


def _load_npy(folder, index):
    """The tensors of an index, with numpy.load; the index gives the dtypes that NumPy does not have."""
    import io

    import numpy
    out = {}
    for name, entry in index.items():
        array = numpy.load(folder / entry["file"], allow_pickle=False)
        written = io.BytesIO()
        numpy.save(written, array, allow_pickle=False)
        raw = array.dtype.kind == "V"
        if not raw and written.getvalue() != (folder / entry["file"]).read_bytes():
            raise checks.Failure(f"{entry['file']} has other bytes than numpy.save writes")
        if list(array.shape) != entry["shape"]:
            raise checks.Failure(f"{entry['file']} has another shape than the index says")
        tensor = torch.from_numpy(numpy.ascontiguousarray(array).view(f"u{array.dtype.itemsize}" if raw else array.dtype)
                                  .reshape(array.shape).copy())
        out[name] = tensor.view(getattr(torch, entry["dtype"])) if raw else tensor
    return out


def _states_held(source):
    """State → name → bytes, of what the engine held."""
    out = {}
    for label, value in source.state.items():
        if isinstance(value, bytes) and "#" in label:
            name, _, kind = label.rpartition("#")
            out.setdefault(kind, {})[name] = value
    return out


def _export(context, source, target, *options, form="safetensors"):
    answer = context.tool.call("export", source, target, "--format", form, *options)
    if not answer["result"]["verified"]:
        raise checks.Failure("the export was not verified")
    return answer


def _module_names(folder):
    """The model's names in the order of its state dict, from the file that DeepSpeed wrote."""
    tag = folder / (folder / "latest").read_text()
    path = sorted(tag.glob("*model_states.pt"))[0]
    return list(torch.load(path, weights_only=False, map_location="cpu")["module"])


def _check_shards(folder, whole, order, limit):
    """The files equal those that huggingface_hub and safetensors write for the same tensors, byte for byte."""
    from huggingface_hub import split_torch_state_dict_into_shards
    from safetensors.torch import save
    tensors = {name: whole[name].clone() for name in order if name in whole}
    split = split_torch_state_dict_into_shards(tensors, max_shard_size=limit)
    if not split.is_sharded:
        raise checks.Failure(f"{limit} bytes hold the whole model: nothing is cut")
    written = {path.name for path in folder.glob("*.safetensors")}
    if written != set(split.filename_to_tensors):
        raise checks.Failure(f"huggingface_hub cuts into {sorted(split.filename_to_tensors)}, found {sorted(written)}")
    for name, members in split.filename_to_tensors.items():
        expected = save({member: tensors[member] for member in members}, metadata={"format": "pt"})
        if (folder / name).read_bytes() != expected:
            raise checks.Failure(f"{name} has other bytes than safetensors writes")
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    index["metadata"].pop("total_parameters")
    if index != {"metadata": split.metadata, "weight_map": split.tensor_to_filename}:
        raise checks.Failure("the index is not huggingface_hub's")
    return len(written)


@dataclass(frozen=True)
class Values:
    """Save, export in every dtype, split into files: equal to what the live engine held, and to the output of stock's
    tools."""
    setup: Setup
    world: int
    stock: bool = True  # zero_to_fp32 reads the checkpoint correctly
    frameworks = True  # needs requirements-wrappers.txt, for huggingface_hub

    @property
    def name(self):
        return f"export {self.setup.name} {self.world}"

    def run(self, context):
        source = context.sources.get(self.setup, self.world)
        live = _live(source.state)
        count = 0
        for choice in ("keep", *CASTS):
            target = context.target(f"{self.name} {choice}")
            _export(context, source.folder, target, "--dtype", choice)
            count += _check_values(_load(target), live, CASTS.get(choice))
        masters = _load(context.work / "targets" / f"{self.name} fp32".replace(" ", "_"))
        states = self._check_states(context, source)
        target = context.target(f"{self.name} shards")
        _export(context, source.folder, target, "--dtype", "fp32", "--shard-size", 3000)
        files = _check_shards(target, masters, _module_names(source.folder), 3000)
        files += self._check_torch(context, source, masters)
        arrays = self._check_npy(context, source, live)
        merged = self._check_merge(source.folder, masters) if self.stock else 0
        return (f"{count} tensors, {states} states and {arrays} NumPy files bit-equal, {files} files equal, "
                f"{merged} equal through zero_to_fp32")

    def _check_npy(self, context, source, live):
        """numpy.load reads the live tensor from every file, and numpy.save writes the same file from it."""
        count = 0
        for choice in ("keep", "fp32", "fp16", "fp8_e4m3"):
            target = context.target(f"{self.name} npy {choice}")
            states = _states_held(source) if choice == "keep" else {}
            _export(context, source.folder, target, "--dtype", choice, *(["--states", ",".join(states)] if states else []),
                    form="npy")
            index = json.loads((target / "index.json").read_text())
            count += _check_values(_load_npy(target, index["tensors"]), live, CASTS.get(choice))
            for kind, expected in states.items():
                found = _load_npy(target, index["states"][kind])
                held = {name: tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
                        for name, tensor in found.items()}
                if held != expected:
                    raise checks.Failure(f"the NumPy files of {kind} are not what the engine held")
                count += len(held)
            files = {str(path.relative_to(target)) for path in target.rglob("*.npy")}
            if files != {entry["file"] for part in (index["tensors"], *index.get("states", {}).values())
                         for entry in part.values()}:
                raise checks.Failure("the index names other files than there are")
        return count

    def _check_states(self, context, source):
        from safetensors.torch import load_file
        kinds = _states_held(source)
        target = context.target(f"{self.name} states")
        _export(context, source.folder, target, "--states", ",".join(sorted(kinds)))
        count = 0
        for kind, expected in kinds.items():
            found = load_file(target / f"{kind}.safetensors")
            held = {name: tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
                    for name, tensor in found.items()}
            if held != expected:
                raise checks.Failure(f"state {kind} is not what the engine held")
            count += len(held)
        return count

    def _check_torch(self, context, source, masters):
        """torch loads its own form with weights_only=True, and finds the same tensors."""
        target = context.target(f"{self.name} torch")
        _export(context, source.folder, target, "--dtype", "fp32", "--shard-size", 3000, form="torch")
        index = json.loads((target / "pytorch_model.bin.index.json").read_text())["weight_map"]
        found = {}
        for path in sorted(target.glob("pytorch_model-*.bin")):
            held = torch.load(path, weights_only=True)
            if any(index[name] != path.name for name in held):
                raise checks.Failure(f"the index does not lead to what {path.name} holds")
            found.update(held)
        if found.keys() != masters.keys() or not all(_same(found[name], masters[name]) for name in masters):
            raise checks.Failure("torch.load finds other tensors than safetensors does")
        return len(set(index.values()))

    def _check_merge(self, folder, masters):
        from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint
        merged = get_fp32_state_dict_from_zero_checkpoint(str(folder))
        both = masters.keys() & merged.keys()
        wrong = [name for name in both if not torch.equal(masters[name], merged[name].to(masters[name].dtype))]
        if wrong or len(both) < 10:
            raise checks.Failure(f"zero_to_fp32 finds other values in {wrong} of {len(both)}")
        return len(both)


@dataclass(frozen=True)
class Parallel:
    """The same for runs whose ranks hold different parameters: single experts, merged stages and slices."""
    setup: ParallelSetup
    world: int
    frameworks = True

    @property
    def name(self):
        return f"export {self.setup.name} {self.world}"

    def run(self, context):
        source = parallel.source_of(context, self.setup, self.world)
        count = 0
        for choice in ("keep", *CASTS):
            target = context.target(f"{self.name} {choice}")
            _export(context, source.folder, target, "--dtype", choice)
            found = _load(target)
            live = _one_slice(_live(source.state), {name: tensor.shape for name, tensor in found.items()})
            count += _check_values(found, live, CASTS.get(choice))
        return f"{count} tensors bit-equal"


@dataclass(frozen=True)
class Pretrained:
    """A Trainer's checkpoint, exported: the bytes equal those of save_pretrained of the live model, and from_pretrained
    loads them."""
    wrapped: Wrapped
    limit: int = 0  # bytes in a file; 0: all in one
    form: str = "safetensors"
    frameworks = True

    @property
    def name(self):
        cut = f" in files of {self.limit}" if self.limit else ""
        return f"export trainer zero{self.wrapped.stage}-{self.wrapped.precision} {self.wrapped.world}{cut}{' torch' if self.form == 'torch' else ''}"

    def run(self, context):
        wrappers.import_frameworks()
        from transformers import AutoModelForCausalLM
        folder = context.target(f"{self.name} source")
        answers = ranks.run_ranks(self.wrapped.world, wrappers.run_trainer, self.wrapped, str(folder), None,
                               log_path=context.sources.log)
        weights = {name: weight for name, (_, weight) in _live(wrappers.gather(answers).state).items()}
        target = context.target(self.name)
        _export(context, folder / f"checkpoint-{SAVED_AT}", target, *(["--shard-size", self.limit] if self.limit else []),
                form=self.form)

        live = wrappers._model(99)  # another seed, so that values that are not replaced differ
        for name, parameter in live.named_parameters():  # and no buffers, which transformers keeps as they are
            parameter.data = parameter.data.to(weights[name].dtype)
        rest = live.load_state_dict(weights, strict=False)
        if set(rest.missing_keys) - {"lm_head.weight"}:
            raise checks.Failure(f"the live state lacks {rest.missing_keys}")
        live.tie_weights()
        loaded = AutoModelForCausalLM.from_pretrained(target)
        tokens = (3 * torch.arange(12) % 64).reshape(2, 6)
        with torch.no_grad():
            expected, found = (model.eval()(tokens).logits for model in (live, loaded))
        if not _same(expected, found):
            raise checks.Failure(f"other logits than the live model's, by {(expected - found).abs().max()}")
        if self.form == "torch":
            return "logits bit-equal"
        return f"logits bit-equal, {self._check_files(context, live, target)} files byte-equal"

    def _check_files(self, context, live, target):
        saved = context.target(f"{self.name} saved")
        live.save_pretrained(saved, **({"max_shard_size": self.limit} if self.limit else {}))
        names = {path.name for path in saved.iterdir() if "safetensors" in path.name}
        if names != {path.name for path in target.iterdir() if "safetensors" in path.name}:
            raise checks.Failure(f"save_pretrained writes {sorted(names)}")
        wrong = [name for name in names if (saved / name).read_bytes() != (target / name).read_bytes()]
        if wrong:
            raise checks.Failure(f"save_pretrained writes other bytes in {wrong}")
        return len(names)


def short_run():
    return [Values(Setup(2, "bf16", shape=(("empty_parameter", True),)), 3), Values(Setup(3, "fp16"), 2),
            Parallel(ParallelSetup("slices", 1, "bf16"), 4), Pretrained(Wrapped(2, "bf16", 2), 20000)]


def full_run():
    values = [Values(Setup(1, "fp16"), 2), Values(Setup(1, "fp32"), 3), Values(Setup(2, "fp32"), 1),
              Values(Setup(2, "bf16", round_robin=True), 3, stock=False), Values(Setup(2, "bf16", aligned=True), 2, stock=False),
              Values(Setup(3, "bf16", sub_group_size=200), 4), Values(Setup(3, "fp32"), 2),
              Values(Setup(1, "bf16", bf16_optimizer=True), 2, stock=False),
              Values(Setup(0, "fp32"), 2, stock=False), Values(Setup(0, "bf16"), 2, stock=False),
              Values(Setup(2, "bf16", "sgd"), 2), Values(Setup(3, "bf16", "lion", offload=True), 2)]
    parts = [Parallel(ParallelSetup("experts", 2, "bf16"), 4), Parallel(ParallelSetup("pipeline", 1, "bf16"), 4),
             Parallel(ParallelSetup("autoep", 2, "bf16", experts=(4, 4)), 4),
             Parallel(ParallelSetup("autoep", 2, "bf16", experts=(4, 4), slices=2), 4)]
    trainer = [Pretrained(Wrapped(3, "bf16", 2)), Pretrained(Wrapped(1, "fp32", 1), 20000),
               Pretrained(Wrapped(2, "bf16", 2), 20000, "torch")]
    return short_run() + values + parts + trainer
