#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes this folder's checkpoint with stock DeepSpeed 0.19.8, ZeRO-3, two ranks.

One module object is registered under two names (`b`, `b2`), a tie that no file records, and a module holds parameters
without elements. Run it with the Python of tests/interop/environment.py.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "interop"))

import environment  # noqa: E402
from runs import ranks  # noqa: E402
from runs.setups import Setup, deepspeed_config  # noqa: E402


def write(_rank, world):
    import deepspeed
    import torch
    from torch import nn

    class Model(nn.Module):

        def __init__(self):
            super().__init__()
            self.a = nn.Linear(8, 8)
            self.spare = nn.Module()
            self.spare.frozen_empty = nn.Parameter(torch.zeros(0, 8), requires_grad=False)
            self.spare.train_empty = nn.Parameter(torch.zeros(0, 4))
            self.frozen = nn.Parameter(torch.randn(5), requires_grad=False)
            self.b = nn.Linear(8, 3)
            self.b2 = self.b
            self.register_buffer("buf_empty", torch.zeros(0))

        def forward(self, x):
            return self.b(self.a(x)).sum() + self.b2(x).sum()

    torch.manual_seed(1)
    model = Model()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=deepspeed_config(Setup(3, "bf16"), world))
    for _ in range(2):
        engine.backward(engine(torch.randn(2, 8, dtype=torch.bfloat16)))
        engine.step()
    engine.save_checkpoint(str(HERE))


if __name__ == "__main__":
    environment.enter()
    ranks.run_ranks(2, write)
