# SPDX-License-Identifier: Apache-2.0
"""Accelerate: check the saved state before the job relies on it.

    accelerate launch --num_processes 2 accelerate_loop.py OUTPUT DEEPSPEED_CONFIG

On CPUs:

    EXAMPLE_BACKEND=gloo ACCELERATE_USE_DEEPSPEED=true torchrun --nproc_per_node 2 accelerate_loop.py OUTPUT DEEPSPEED_CONFIG
"""

import json
import os
import sys

import torch
from accelerate import Accelerator  # type: ignore[import-untyped]
from accelerate.utils import DeepSpeedPlugin, InitProcessGroupKwargs  # type: ignore[import-untyped]
from torch.utils.data import DataLoader, TensorDataset

import shardscope


def main(output: str, config: str) -> None:
    backend = os.environ.get("EXAMPLE_BACKEND")
    handlers = [InitProcessGroupKwargs(backend=backend)] if backend else []
    with open(config, encoding="utf-8") as file:
        plugin = DeepSpeedPlugin(hf_ds_config=json.load(file))
    accelerator = Accelerator(deepspeed_plugin=plugin, kwargs_handlers=handlers)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    data: DataLoader[tuple[torch.Tensor, ...]] = DataLoader(TensorDataset(torch.randn(96, 8)), batch_size=6)
    model, optimizer, data = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=0.01), data)
    dtype = next(model.parameters()).dtype
    for (inputs,) in data:
        loss = model(inputs.to(dtype)).square().mean()
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    accelerator.save_state(output)
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        result = shardscope.check(output).results[0]
        errors = [one for one in result.findings or [] if one.severity == "error"]
        print(f"{result.tag}: {len(errors)} errors, state {shardscope.fingerprint(output).fingerprint}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
