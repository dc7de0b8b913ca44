#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/samples: small real checkpoints, trained and saved by stock DeepSpeed on CPU.

    tests/data/make_samples.py [NAME...]
    tests/data/make_samples.py --deepspeed 0.14.4 [NAME...]     those of an older one, which needs numactl

NAME.json next to each run folder NAME holds digests of the live engine's state when it saved. The padding of ZeRO-3
partitions is uninitialised memory, so a second run gives other bytes there. """

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "interop"))

import environment  # noqa: E402
from runs import ranks  # noqa: E402
from runs.golden import CONVERTED, OLD_PARALLEL, OWN, PARALLEL, SAMPLES  # noqa: E402
from runs.setups import Setup  # noqa: E402


def write_sample(rank, world, setup, tag_steps, folder):
    from runs.training import build_engine, train
    engine = build_engine(setup, world)
    done, states = 0, []
    for step in tag_steps:
        # fp16: the two poisoned steps are skipped, so scale, counters and hysteresis are not the initial ones.
        train(engine, rank, world, done, step - done, poisoned=(1, 3) if setup.precision == "fp16" else (),
              shape=setup.shape)
        done = step
        engine.save_checkpoint(folder, client_state={
            "iteration": step,
            "consumed_samples": step * 60,
            "args": argparse.Namespace(model="tiny", learning_rate=3e-3, note="größe"),
        })
        states.append((f"global_step{engine.global_steps}", live_state.local_state(engine, rank)))
    return states


def write_parallel_sample(rank, world, setup, tag_steps, folder):
    from runs import parallel_training
    engine = parallel_training.build_engine(setup, world)
    done, states = 0, []
    for step in tag_steps:
        parallel_training.train(engine, setup, rank, world, done, step - done)
        done = step
        # Where it says how slices join, only the last tag does.
        said = parallel_training.client_state(setup) if step == tag_steps[-1] else {}
        engine.save_checkpoint(folder, client_state=said)
        state = parallel_training.local_state(engine, setup, rank, world)
        states.append((f"global_step{engine.global_steps}", state))
    return states


def add_universal(folder, tag):
    """Converts the tag with DeepSpeed's own converter, next to it; writes `latest_universal` too."""
    subprocess.run([sys.executable, "-m", "deepspeed.checkpoint.ds_to_universal", "--input_folder", str(folder / tag),
                    "--output_folder", str(folder / f"{tag}_universal"), "--inject_missing_state"],
                   check=True, capture_output=True)


def main(samples, names):
    for name in names or samples:
        world, setup, tag_steps = samples[name]
        folder = HERE / "samples" / name
        shutil.rmtree(folder, ignore_errors=True)
        write = write_sample if isinstance(setup, Setup) else write_parallel_sample
        parts = ranks.run_ranks(world, write, setup, tag_steps, str(folder))
        tags = {saved[0][0]: describe(live_state.merge([state for _, state in saved])) for saved in zip(*parts)}
        text = json.dumps({"world": world, "tags": tags}, indent=1, ensure_ascii=False, sort_keys=True)
        folder.with_suffix(".json").write_text(text + "\n", encoding="utf-8")
        for script in ("zero_to_fp32.py", "zero_to_torch.py"):
            # DeepSpeed copies its own scripts there; they are not part of the checkpoint's state.
            (folder / script).unlink(missing_ok=True)
        if name in CONVERTED:
            add_universal(folder, list(tags)[-1])
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        print(f"{name}: {size} bytes")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deepspeed", metavar="VERSION", choices=SAMPLES, default=OWN)
    parser.add_argument("names", metavar="NAME", nargs="*")
    asked = parser.parse_args()
    environment.enter()
    if asked.deepspeed != OWN:
        environment.use_deepspeed(asked.deepspeed)
    environment.import_judges()
    from compare import live_state
    from runs.golden import describe
    main(SAMPLES[asked.deepspeed] | ({OWN: PARALLEL} | OLD_PARALLEL).get(asked.deepspeed, {}), asked.names)
