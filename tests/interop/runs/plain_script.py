# SPDX-License-Identifier: Apache-2.0
"""A training script that knows nothing of Shardscope: plain_script.py [--local_rank=N] STAGE RUN. Goes on where RUN is, three
steps at a time; prints how it began and the losses."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import deepspeed  # noqa: E402
from runs.setups import Setup  # noqa: E402
from runs.training import build_engine, train  # noqa: E402


def main():
    stage, folder = [word for word in sys.argv[1:] if not word.startswith("--local_rank")]
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    deepspeed.init_distributed(dist_backend="gloo")
    engine = build_engine(Setup(int(stage), "fp32"), world)
    path, _ = engine.load_checkpoint(folder)
    first = engine.global_steps
    losses = train(engine, rank, world, first, 3)
    engine.save_checkpoint(folder)
    print("began", "fresh" if path is None else os.path.relpath(path, folder), "at", first, "losses", losses, flush=True)
    os._exit(0)  # without gloo's destructors, which can wait for other ranks


main()
