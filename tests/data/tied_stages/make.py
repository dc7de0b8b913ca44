#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes run/: two pipeline stages without ZeRO that share five tied modules of one shape.

    tests/data/tied_stages/make.py

Edited from the sample stage0-pipeline-fp32-w2, which stock DeepSpeed 0.19.8 wrote: no file says in which order the
optimizer of a stage has the five. Needs torch.
"""

import shutil
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
SAMPLE = HERE.parent / "samples" / "stage0-pipeline-fp32-w2" / "global_step3"
TAG = HERE / "run" / "global_step3"
TIED = 5


def moments(weight, seed):
    generator = torch.Generator().manual_seed(seed)
    return {"step": torch.tensor(3.0), "exp_avg": torch.randn(weight.shape, generator=generator),
            "exp_avg_sq": torch.rand(weight.shape, generator=generator)}


def main():
    shutil.rmtree(TAG.parent, ignore_errors=True)
    TAG.mkdir(parents=True)
    (TAG.parent / "latest").write_text(TAG.name)
    generator = torch.Generator().manual_seed(1)
    tied = [torch.randn(2, 3, generator=generator) for _ in range(TIED)]
    own = [torch.randn(4, 3, generator=generator), torch.randn(5, 2, generator=generator)]
    layers = [*tied, own[0], own[1], *tied]
    for number, weight in enumerate(layers):
        torch.save({"weight": weight}, TAG / f"layer_{number:02d}-model_states.pt")
    for stage in range(2):
        name = f"mp_rank_{stage:02d}_model_states.pt"
        model = torch.load(SAMPLE / name, weights_only=False)
        options = {**model["optimizer"]["param_groups"][0], "params": list(range(TIED + 1))}
        weights = [*tied, own[stage]]
        seeds = [*range(TIED), 10 + stage]
        state = {i: moments(weight, seed) for i, (weight, seed) in enumerate(zip(weights, seeds))}
        model["optimizer"] = {"state": state, "param_groups": [options]}
        model["buffer_names"] = []
        torch.save(model, TAG / name)


if __name__ == "__main__":
    main()
