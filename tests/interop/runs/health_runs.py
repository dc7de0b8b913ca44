#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs for `stats --health`: sound ones, as different as people have them, and ones with a planted fault.

    tests/interop/runs/health_runs.py FOLDER [PATTERN]

Makes FOLDER/sound/NAME and FOLDER/planted/NAME, and NAME.json next to each: how it was trained and what was planted.
"""

import fnmatch
import json
import shutil
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from runs import health_training
from runs.health_training import Run

UNEQUAL = (1, 4, 10, 25, 60, 70)
SOUND = [
    Run("gpt2-zero2-bf16-adamw", tags=(20, 40, 60, 80, 100, 120), groups="decay", decay=0.1),
    Run("llama-zero3-bf16-adamw", "llama", stage=3, groups="decay", decay=0.1, options=(("betas", (0.9, 0.95)),)),
    Run("llama-tied-zero3-fp32-w3", "llama", (("tied", True),), stage=3, precision="fp32", worlds=((0, 3),),
        tags=UNEQUAL),
    Run("t5-zero1-fp32-adam", "t5", stage=1, precision="fp32", optimizer="adam", schedule="constant", rate=3e-3),
    Run("bert-unused-pooler-zero2-bf16", "bert", decay=0.01, groups="decay", schedule="linear"),
    Run("vit-layer-rates-zero2-bf16", "vit", (("layers", 12), ("width", 32)), groups="layers", decay=0.05),
    Run("mixtral-experts-zero2-bf16", "mixtral", tags=(10, 20, 30, 40, 50, 60), worlds=((0, 3),)),
    Run("mlp-zero1-fp16-skipped", "mlp", stage=1, precision="fp16", poisoned=(0, 1, 2, 3, 4, 33, 59),
        tags=(5, 10, 20, 30, 50, 60), schedule="constant"),
    Run("gpt2-zero2-fp16-fusedadam", stage=2, precision="fp16", optimizer="fusedadam", poisoned=(7, 8),
        schedule="one-cycle"),
    Run("mlp12-stage0-fp32-adamw", "mlp", (("widths", (24, *[40] * 12, 8)), ("norm", True)), stage=0, precision="fp32",
        worlds=((0, 1), (30, 2)), schedule="restarts", tags=(5, 15, 30, 40, 45, 60)),
    Run("gpt2-stage0-bf16", stage=0, precision="bf16", worlds=((0, 1),), rate=1e-3, schedule="recursive cosine"),
    Run("llama-cpuadam-offload", "llama", optimizer="cpuadam", zero=(("offload_optimizer", {"device": "cpu"}),),
        schedule="long warm-up", tags=(2, 10, 20, 40, 60, 80)),
    Run("mlp-lion-zero1-fp32", "mlp", stage=1, precision="fp32", optimizer="lion", rate=2e-2, decay=0.1,
        schedule="zero"),
    Run("gpt2-cpulion-offload", optimizer="cpulion", zero=(("offload_optimizer", {"device": "cpu"}),), groups="decay",
        decay=0.1),
    Run("conv-sgd-zero2-fp32", "conv", precision="fp32", optimizer="sgd", rate=5e-3, decay=5e-4, schedule="steps"),
    Run("mlp-adagrad-zero1-fp32", "mlp", stage=1, precision="fp32", optimizer="adagrad", schedule="constant"),
    Run("lstm-zero1-fp32-no-clip", "lstm", stage=1, precision="fp32", clip=0.0, schedule="zero", worlds=((0, 1),)),
    Run("gpt2-other-world-zero2", worlds=((0, 2), (30, 1)), decay=0.1, steps=200),
    Run("gpt2-lora-zero2-bf16", "lora", (("rank", 4),), schedule="linear", rate=5e-3),
    Run("llama-lora-zero3-bf16", "lora", (("base", "llama"),), stage=3, rate=1e-2),
    Run("llama-frozen-half-zero1", "llama", stage=1, frozen=("embed_tokens", "layers.0.", "layers.1."), rate=5e-4),
    Run("t5-bf16-optimizer", "t5", stage=1, config=(("data_types", {"grad_accum_dtype": "fp32"}),), rate=1e-2,
        tags=(3, 20, 21, 40, 80, 81)),
    Run("vit-warmup-lr-config", "vit", stage=3, config=(
        ("scheduler", {"type": "WarmupCosineLR", "params": {"total_num_steps": 60, "warmup_num_steps": 10}}),),
        schedule="config", tags=(1, 2, 3, 30, 59, 60)),
    Run("zero-gates-zero2-bf16", "gates", schedule="constant", tags=(1, 2, 5, 20, 60, 90)),
    Run("mlp-learned-by-heart-zero2-fp32", "mlp", precision="fp32", optimizer="adam", rate=5e-3, data="easy",
        schedule="constant", tags=(10, 30, 100, 200, 300, 400), options=(("betas", (0.9, 0.95)),)),
    Run("gpt2-other-data-zero1-no-clip", stage=1, clip=0.0, data="changes at 30", options=(("betas", (0.9, 0.95)),)),
    Run("llama-rate-raised-zero2", "llama", schedule="raised"),
    # Large enough to be sampled.
    Run("mlp-wide-zero2-bf16", "mlp", (("widths", (24, 320, 320, 320, 320, 8)),), groups="decay", decay=0.1),
    Run("mlp-wide-zero3-fp32", "mlp", (("widths", (24, 320, 320, 320, 320, 8)),), stage=3, precision="fp32",
        worlds=((0, 3),)),
    Run("lstm-rate-set-zero1-fp32", "lstm", stage=1, precision="fp32", schedule="set"),
    Run("gpt2-subgroups-zero3", stage=3, zero=(("sub_group_size", 20000),), worlds=((0, 3),), groups="decay",
        decay=0.1),
]
_BY_NAME = {run.name: run for run in SOUND}


def _of(name, new, **changes):
    return replace(_BY_NAME[name], name=new, **changes)


@dataclass(frozen=True)
class Trained:
    """A fault that training makes. Layer and rank: all of them."""
    run: Run
    kind: str
    tag: int  # the first tag that shows it

    @property
    def name(self):
        return self.run.name

    def truth(self):
        return {"kind": self.kind, "tag": f"global_step{self.tag}", "layer": None, "rank": None}


_T = Trained
SIXTY = (10, 20, 30, 40, 50, 60)
TRAINED = [
    _T(_of("gpt2-zero2-bf16-adamw", "rate-over-save-gpt2", tags=SIXTY, spike=(100, 36, 42)), "rate-spike", 40),
    _T(_of("llama-zero3-bf16-adamw", "rate-over-save-llama3", spike=(300, 29, 31)), "rate-spike", 30),
    _T(_of("conv-sgd-zero2-fp32", "rate-over-save-sgd", schedule="cosine", spike=(50, 38, 41)), "rate-spike", 40),
    _T(_of("gpt2-zero2-bf16-adamw", "rate-between-gpt2", tags=SIXTY, spike=(100, 33, 36)), "rate-spike", 40),
    _T(_of("llama-zero3-bf16-adamw", "rate-between-llama3", spike=(50, 44, 47)), "rate-spike", 50),
    _T(_of("mlp-lion-zero1-fp32", "rate-between-lion", schedule="cosine", spike=(100, 23, 26)), "rate-spike", 30),
    _T(_of("t5-zero1-fp32-adam", "rate-between-t5", schedule="cosine", spike=(300, 23, 24)), "rate-spike", 30),
    _T(_of("bert-unused-pooler-zero2-bf16", "rate-last-bert", schedule="cosine", spike=(100, 57, 90)), "rate-spike",
       60),
    _T(_of("llama-cpuadam-offload", "rate-last-cpuadam", schedule="cosine", tags=SIXTY, spike=(50, 58, 90)), "rate-spike",
       60),
    _T(_of("lstm-rate-set-zero1-fp32", "rate-set-over-save-lstm", spike=(100, 28, 31)), "rate-spike", 30),
    _T(_of("gpt2-zero2-bf16-adamw", "reset-middle-gpt2", tags=SIXTY, reset=(30, "not loaded")), "moments-reset", 40),
    _T(_of("llama-zero3-bf16-adamw", "reset-middle-llama3", reset=(30, "not loaded")), "moments-reset", 40),
    _T(_of("mlp12-stage0-fp32-adamw", "reset-middle-stage0", schedule="cosine", worlds=((0, 1),), tags=SIXTY,
           reset=(40, "not loaded")), "moments-reset", 50),
    _T(_of("bert-unused-pooler-zero2-bf16", "reset-last-bert", tags=(10, 20, 30, 40, 50, 53), reset=(50, "not loaded")),
       "moments-reset", 53),
    _T(_of("gpt2-zero2-bf16-adamw", "zeroed-last-gpt2", tags=(50, 100, 150, 200, 202), reset=(200, "zeroed")),
       "moments-reset", 202),
    _T(_of("llama-cpuadam-offload", "zeroed-middle-cpuadam", schedule="cosine", tags=(50, 100, 150, 152, 200, 220),
           reset=(150, "zeroed")), "moments-reset", 152),
    _T(_of("mlp12-stage0-fp32-adamw", "zeroed-last-stage0", schedule="cosine", worlds=((0, 1),),
           tags=(50, 100, 150, 200, 250, 251), reset=(250, "zeroed")), "moments-reset", 251),
]


@dataclass(frozen=True)
class Planted:
    """A fault in the files of a sound run's tag."""
    name: str
    source: str
    kind: str
    place: int  # of the tag among the run's: -1 is the last
    layer: str = None
    only: str = ""  # part of the names of the changed parameters
    factor: float = 0.0
    rank: int = None
    back: int = 1  # how many tags older a stale file is
    hidden: bool = False  # its counters of steps are the others'

    def truth(self):
        tag = _BY_NAME[self.source].tags[self.place]
        return {"kind": self.kind, "tag": f"global_step{tag}", "layer": self.layer, "rank": self.rank,
                "factor": self.factor or None, "only": self.only or None}


_P = Planted
PLANTED = [
    _P("scaled-1.5-last-gpt2", "gpt2-zero2-bf16-adamw", "layer-scaled", -1, "transformer.h.2", factor=1.5),
    _P("scaled-3-last-gpt2", "gpt2-zero2-bf16-adamw", "layer-scaled", -1, "transformer.h.1", factor=3),
    _P("scaled-10-last-llama3", "llama-zero3-bf16-adamw", "layer-scaled", -1, "model.layers.3", factor=10),
    _P("scaled-3-middle-llama3", "llama-zero3-bf16-adamw", "layer-scaled", 3, "model.layers.0", factor=3),
    _P("scaled-1.5-middle-t5", "t5-zero1-fp32-adam", "layer-scaled", 3, "decoder.block.1", factor=1.5),
    _P("scaled-3-last-vit", "vit-layer-rates-zero2-bf16", "layer-scaled", -1, "vit.layers.7", factor=3),
    _P("scaled-3-last-head-mlp12", "mlp12-stage0-fp32-adamw", "layer-scaled", -1, "18", factor=3),
    _P("scaled-3-one-llama3", "llama-zero3-bf16-adamw", "layer-scaled", -1, "model.layers.1", "self_attn.q_proj", 3),
    _P("scaled-10-one-bert", "bert-unused-pooler-zero2-bf16", "layer-scaled", 2, "bert.encoder.layer.2", "output.dense",
       10),
    _P("scaled-3-last-fp16", "gpt2-zero2-fp16-fusedadam", "layer-scaled", -1, "transformer.h.0", factor=3),
    _P("scaled-3-middle-sgd", "conv-sgd-zero2-fp32", "layer-scaled", 2, "blocks.1", factor=3),
    _P("scaled-3-last-lora", "gpt2-lora-zero2-bf16", "layer-scaled", -1, "base_model.model.transformer.h.2", factor=3),
    _P("stale-last-gpt2", "gpt2-zero2-bf16-adamw", "stale-rank", -1, rank=1),
    _P("stale-middle-llama3", "llama-zero3-bf16-adamw", "stale-rank", 3, rank=0),
    _P("stale-last-w3", "llama-tied-zero3-fp32-w3", "stale-rank", -1, rank=2, back=2),
    _P("stale-hidden-last-gpt2", "gpt2-zero2-bf16-adamw", "stale-rank", -1, rank=1, hidden=True),
    _P("stale-hidden-last-llama3", "llama-zero3-bf16-adamw", "stale-rank", -1, rank=1, hidden=True),
    _P("stale-hidden-middle-w3", "mixtral-experts-zero2-bf16", "stale-rank", 3, rank=1, hidden=True),
    _P("stale-hidden-two-back-llama3", "llama-zero3-bf16-adamw", "stale-rank", -1, rank=0, hidden=True, back=2),
    _P("stale-hidden-last-fp32", "t5-zero1-fp32-adam", "stale-rank", -1, rank=0, hidden=True),
    _P("stale-hidden-last-fused", "gpt2-zero2-fp16-fusedadam", "stale-rank", -1, rank=1, hidden=True),
    _P("stale-hidden-sgd", "conv-sgd-zero2-fp32", "stale-rank", 3, rank=1, hidden=True),
    _P("nan-last-gpt2", "gpt2-zero2-bf16-adamw", "nan", -1, "transformer.h.3", "mlp.c_fc.weight"),
    _P("nan-middle-llama3", "llama-zero3-bf16-adamw", "nan", 3, "model.layers.2", "mlp.up_proj"),
    _P("nan-moment-stage0", "mlp12-stage0-fp32-adamw", "nan-moment", -1, "12", "weight"),
    _P("moments-zero-gpt2", "gpt2-zero2-bf16-adamw", "moments-zeroed", -1, "transformer.h.1"),
    _P("moments-zero-llama3", "llama-zero3-bf16-adamw", "moments-zeroed", 3, "model.layers.2"),
    _P("second-moment-zero-llama3", "llama-zero3-bf16-adamw", "second-moment-zeroed", -1, "model.layers.1"),
    _P("moments-zero-adagrad", "mlp-adagrad-zero1-fp32", "moments-zeroed", -1, "2"),
    _P("scaled-10-last-adagrad", "mlp-adagrad-zero1-fp32", "layer-scaled", -1, "4", factor=10),
    _P("inf-last-t5", "t5-zero1-fp32-adam", "inf", -1, "encoder.block.1", "DenseReluDense.wi"),
    _P("scaled-3-last-wide", "mlp-wide-zero2-bf16", "layer-scaled", -1, "4", factor=3),
    _P("scaled-1.5-middle-wide3", "mlp-wide-zero3-fp32", "layer-scaled", 3, "2", factor=1.5),
    _P("stale-hidden-last-wide", "mlp-wide-zero2-bf16", "stale-rank", -1, rank=0, hidden=True),
    _P("stale-hidden-middle-wide3", "mlp-wide-zero3-fp32", "stale-rank", 2, rank=2, hidden=True),
    _P("moments-zero-wide", "mlp-wide-zero2-bf16", "moments-zeroed", -1, "6"),
    _P("moments-zero-lion", "gpt2-cpulion-offload", "moments-zeroed", -1, "transformer.h.0"),
    _P("moments-zero-lora3", "llama-lora-zero3-bf16", "moments-zeroed", 4, "base_model.model.model.layers.1"),
]
# Of the short run.
SHORT = ("llama-zero3-bf16-adamw", "mlp-zero1-fp16-skipped", "mlp12-stage0-fp32-adamw", "mlp-lion-zero1-fp32",
         "rate-between-lion", "scaled-3-middle-llama3", "stale-hidden-last-llama3", "reset-middle-stage0",
         "nan-middle-llama3")


def _tag(folder, step, groups):
    from compare.health_values import Tag
    return Tag(folder / f"global_step{step}", groups)


def plant(fault, folder, groups):
    """Changes the files of a copy of the source."""
    from compare.health_values import layer_of
    tags = _BY_NAME[fault.source].tags
    place = fault.place % len(tags)
    tag = _tag(folder, tags[place], groups)
    if fault.kind == "stale-rank":
        older, path = _tag(folder, tags[place - fault.back], groups), tag.optim_paths[fault.rank]
        shutil.copyfile(older.optim_paths[fault.rank], path)
        if fault.hidden:
            changed = _tag(folder, tags[place], groups)
            changed.set_steps(fault.rank, tag)
            changed.save([fault.rank])
        return
    names = [name for name in tag.spans if layer_of(name) == fault.layer and fault.only in name]
    if not names:
        raise ValueError(f"{fault.name}: nothing is in {fault.layer}; there are {sorted(set(map(layer_of, tag.spans)))}")
    for name in names:
        for span in tag.spans[name]:
            _change(fault, tag, name, span)
        if fault.kind in ("layer-scaled", "nan", "inf"):
            tag.put_weights(name)
    tag.save()


def _change(fault, tag, name, span):
    if fault.kind == "layer-scaled":
        tag.part(span, "fp32").mul_(fault.factor)
    elif fault.kind in ("nan", "inf"):
        tag.part(span, "fp32")[:5] = float(fault.kind)
    elif fault.kind == "nan-moment":
        tag.part(span, "exp_avg_sq")[:1] = float("nan")
    else:
        for state in tag.states(name)[2 if fault.kind == "second-moment-zeroed" else 1:]:
            tag.part(span, state).zero_()


def make_sound(run, folder, log_path):
    names, losses = health_training.train(run, folder, log_path)
    return _note(run, folder, [], names, losses)


def make_trained(fault, folder, log_path):
    names, losses = health_training.train(fault.run, folder, log_path)
    return _note(fault.run, folder, [fault.truth()], names, losses)


def make_planted(fault, source, folder):
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    noted = json.loads(Path(f"{source}.json").read_text(encoding="utf-8"))
    plant(fault, folder, noted["groups"])
    noted["faults"], noted["source"] = [fault.truth()], fault.source
    return _write(folder, noted)


def _note(run, folder, faults, names, losses):
    return _write(folder, {"run": asdict(run), "faults": faults, "groups": names,
                           "losses": [round(loss, 4) for loss in losses]})


def _write(folder, noted):
    Path(f"{folder}.json").write_text(json.dumps(noted, indent=1), encoding="utf-8")
    return noted


class Made:
    """The runs in a folder, each made when it is asked for."""

    def __init__(self, folder, log_path):
        self.folder, self.log = Path(folder), log_path

    def get(self, fault):
        """(folder, what was noted) of a Run, a Trained or a Planted."""
        is_sound = isinstance(fault, Run)
        folder = self.folder / ("sound" if is_sound else "planted") / fault.name
        path = Path(f"{folder}.json")
        if path.exists():
            return folder, json.loads(path.read_text(encoding="utf-8"))
        folder.parent.mkdir(parents=True, exist_ok=True)
        if is_sound:
            return folder, make_sound(fault, folder, self.log)
        if isinstance(fault, Trained):
            return folder, make_trained(fault, folder, self.log)
        source, _ = self.get(_BY_NAME[fault.source])
        return folder, make_planted(fault, source, folder)


def ops(runs):
    found = {getattr(run, "run", run).optimizer for run in runs if not isinstance(run, Planted)}
    found |= {_BY_NAME[run.source].optimizer for run in runs if isinstance(run, Planted)}
    builders = {"cpuadam": "CPUAdamBuilder", "fusedadam": "FusedAdamBuilder", "cpulion": "CPULionBuilder"}
    return sorted(builders[optimizer] for optimizer in found & builders.keys())


def main():
    import environment
    environment.enter()
    pattern = sys.argv[2] if len(sys.argv) > 2 else "*"
    wanted = [run for run in [*SOUND, *TRAINED, *PLANTED] if fnmatch.fnmatchcase(run.name, pattern)]
    environment.import_judges(ops(wanted))
    import transformers  # noqa: F401  (once, not on every rank)
    folder, failed = Path(sys.argv[1]), []
    folder.mkdir(parents=True, exist_ok=True)
    made = Made(folder, folder / "ranks.log")
    for run in wanted:
        began = time.monotonic()
        try:
            _, noted = made.get(run)
            losses = f"{noted['losses'][0]} … {noted['losses'][-1]}"
            print(f"{time.monotonic() - began:5.1f} s  {run.name}: {losses}", flush=True)
        except Exception as error:
            failed.append(run.name)
            print(f"FAIL  {run.name}: {type(error).__name__}: {str(error)[-900:]}", flush=True)
    sys.exit(f"not made: {failed}" if failed else 0)


if __name__ == "__main__":
    main()
