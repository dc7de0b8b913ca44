#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/unsupported: small real checkpoints of kinds that are recognised and not interpreted.

    tests/data/make_unsupported.py [NAME...]
"""

import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "interop"))

import environment  # noqa: E402
import ranks  # noqa: E402

KINDS = {
    # name: (stage, precision, entries of zero_optimization)
    "elastic": (1, "fp32", {"elastic_checkpoint": True}),
}


def write_checkpoint(rank, world, stage, precision, zero, folder):
    import deepspeed
    import torch
    from deepspeed.accelerator import get_accelerator

    torch.manual_seed(5)
    torch.set_num_threads(1)
    if precision == "fp16":
        get_accelerator().is_fp16_supported = lambda: True
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Linear(5, 7), torch.nn.Linear(7, 3))
    config = {"train_micro_batch_size_per_gpu": 2, "zero_force_ds_cpu_optimizer": False,
              "zero_allow_untested_optimizer": True, "zero_optimization": {"stage": stage, **zero}}
    if precision != "fp32":
        config[precision] = {"enabled": True}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    kind = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[precision]
    for step in range(2):
        torch.manual_seed(100 * step + rank)
        engine.backward(engine(torch.randn(2, 6, dtype=kind)).float().square().mean())
        engine.step()
    engine.save_checkpoint(folder, tag="global_step2")


def main():
    for name in sys.argv[1:] or list(KINDS):
        stage, precision, zero = KINDS[name]
        folder = HERE / "unsupported" / name
        shutil.rmtree(folder, ignore_errors=True)
        ranks.run_ranks(1 if stage == 0 else 2, write_checkpoint, stage, precision, zero, str(folder))
        for script in folder.glob("*.py"):
            script.unlink()
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        print(f"{name}: {size} bytes")


if __name__ == "__main__":
    environment.enter()
    environment.import_judges()
    main()
