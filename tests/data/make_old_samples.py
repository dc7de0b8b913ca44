#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes those of tests/data/samples that releases of DeepSpeed before 0.14 saved; most of them know CUDA only.

    tests/data/make_old_samples.py --deepspeed 0.6.7 --as NAME STAGE PRECISION WORLD STEPS [OPTION=VALUE...]

Run it with a Python that has torch 1.12, pydantic 1 and that release of DeepSpeed; nothing of either is patched on disk.
An OPTION is a field of setups.Setup. cpu_as_cuda.py replaces the missing GPU. NAME.json is
written next to the run folder, as by make_samples.py.
"""

import argparse
import inspect
import json
import os
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "interop"))
sys.path.insert(0, str(HERE))


def build_engine(deepspeed, setup, world):
    import torch
    from runs import setups
    from runs.model import build_model, split_parameters
    torch.set_num_threads(1)
    model = build_model(17, **dict(setup.shape))
    names = {parameter: name for name, parameter in model.named_parameters()}
    groups = setups.optimizer_groups(setup, *split_parameters(model))
    optimizer = torch.optim.AdamW(groups, lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.8)
    config = setups.deepspeed_config(setup, world)
    known = inspect.signature(deepspeed.initialize).parameters
    config = {"config" if "config" in known else "config_params": config, 
              "args": argparse.Namespace(local_rank=int(os.environ["LOCAL_RANK"]))}
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, lr_scheduler=scheduler, dist_init_required=False,
                                      **config)
    return engine, names


def train(engine, rank, world, steps, poisoned, shape):
    from runs import setups
    from runs.model import make_batch
    sizes = dict(shape)
    for step in range(steps):
        batch = make_batch(step, setups.GLOBAL_BATCH, sizes.get("positions", 8), sizes.get("vocabulary", 32))
        loss = engine(batch.chunk(world)[rank])
        print("loss", step, loss.item(), flush=True)
        engine.backward(loss * 1e30 if step in poisoned else loss)
        engine.step()


def first_of(thing, *names):
    """Attributes were renamed over the releases."""
    for name in names:
        if hasattr(thing, name):
            return getattr(thing, name)
    raise AttributeError(names)


def is_unfused(optimizer):
    return type(optimizer).__name__ == "FP16_UnfusedOptimizer"


def flat_groups(optimizer, names, rank):
    """As live_state._flat_groups, by the names that old releases have for the same things."""
    if hasattr(optimizer, "fp32_partitioned_groups_flat"):
        for index, parameters in enumerate(first_of(optimizer, "fp16_groups")):
            fragments, offset = [], 0
            for parameter in parameters:
                share = parameter.ds_tensor.ds_numel
                start = min(rank * share, parameter.ds_numel)
                end = min((rank + 1) * share, parameter.ds_numel)
                fragments.append((names[parameter], parameter.ds_numel, start, offset, end - start))
                offset += share
            yield optimizer.sub_group_to_group_id[index], optimizer.fp32_partitioned_groups_flat[index], fragments
        return
    if is_unfused(optimizer):
        masters = first_of(optimizer, "fp32_groups")
        for index, group in enumerate(masters):
            for copy, master in zip(optimizer.fp16_groups[index], group):
                yield index, master, [(names[copy], master.numel(), 0, 0, master.numel() if rank == 0 else 0)]
        return
    groups = first_of(optimizer, "round_robin_bit16_groups", "round_robin_fp16_groups", "bf16_groups", "fp16_groups")
    masters = first_of(optimizer, "fp32_groups_flat_partition", "single_partition_of_fp32_groups")
    for index, partition in enumerate(masters):
        low = rank * partition.numel()
        high, fragments, offset = low + partition.numel(), [], 0
        for parameter in groups[index]:
            start, end = max(low, offset), min(high, offset + parameter.numel())
            fragments.append((names[parameter], parameter.numel(), start - offset, start - low, max(0, end - start)))
            offset += parameter.numel()
        yield index, partition, fragments


def local_state(engine, names, rank, zero3):
    import deepspeed
    from compare import live_state
    fragments, scalars = [], live_state._scalars(engine)
    for group, partition, cuts in flat_groups(engine.optimizer, names, rank):
        states = {"fp32": partition}
        for key, value in engine.optimizer.optimizer.state.get(partition, {}).items():
            if hasattr(value, "dim") and value.dim() > 0 and value.shape == partition.shape:
                states[key] = value
            else:
                scalars.update((f"{name} {key}", live_state.plain(value)) for name, *_ in cuts)
        for name, numel, start, offset, count in cuts:
            for key, tensor in states.items():
                data = live_state._raw(tensor.reshape(-1).narrow(0, offset, count)) if count else (
                    str(tensor.dtype), (0,), b"")
                fragments.append((name, key, numel, start, group, data))
    weights = {}
    for name, parameter in engine.module.named_parameters():
        if zero3:
            with deepspeed.zero.GatheredParameters([parameter]):
                weights[name] = live_state._raw(parameter)
        else:
            weights[name] = live_state._raw(parameter)
    weights.update((name, live_state._raw(buffer)) for name, buffer in engine.module.named_buffers())
    return {"fragments": fragments, "scalars": scalars, "weights": weights}


def one_rank(rank, world, setup, steps, folder, port, pipe):
    import pickle
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(port))
    import cpu_as_cuda
    cpu_as_cuda.install()
    import deepspeed
    cpu_as_cuda.take_ops(deepspeed)
    deepspeed.init_distributed(dist_backend="gloo")
    engine, names = build_engine(deepspeed, setup, world)
    poisoned = (1, 3) if setup.precision == "fp16" else ()
    train(engine, rank, world, steps, poisoned, setup.shape)
    engine.save_checkpoint(folder, client_state={"iteration": steps,
                                                 "args": argparse.Namespace(model="tiny", note="größe")})
    pipe.send_bytes(pickle.dumps(local_state(engine, names, rank, setup.stage == 3)))
    import torch
    torch.distributed.barrier()
    os._exit(0)


def setup_of(asked):
    import ast
    from runs.golden import SMALL
    from runs.setups import Setup
    options = {"scheduler": "steps"}
    for option in asked.options:
        key, _, value = option.partition("=")
        options[key] = SMALL if value == "SMALL" else ast.literal_eval(value)
    return Setup(asked.stage, asked.precision, **options)


def main(asked):
    import multiprocessing
    import pickle
    from compare import live_state
    from runs.golden import describe
    from runs.ranks import free_port
    setup = setup_of(asked)
    folder = Path(asked.folder) / asked.name
    shutil.rmtree(folder, ignore_errors=True)
    context = multiprocessing.get_context("spawn")
    port, pipes = free_port(), []
    for rank in range(asked.world):
        receiver, sender = context.Pipe(duplex=False)
        context.Process(target=one_rank, args=(rank, asked.world, setup, asked.steps, str(folder), port, sender),
                        daemon=True).start()
        sender.close()
        pipes.append(receiver)
    parts = [pickle.loads(pipe.recv_bytes()) for pipe in pipes]
    tags = {f"global_step{asked.steps}": describe(live_state.merge(parts))}
    text = json.dumps({"world": asked.world, "tags": tags}, indent=1, ensure_ascii=False, sort_keys=True)
    folder.with_suffix(".json").write_text(text + "\n", encoding="utf-8")
    (folder / "zero_to_fp32.py").unlink(missing_ok=True)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{asked.name}: {size} bytes")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default=HERE / "samples")
    parser.add_argument("name")
    parser.add_argument("stage", type=int)
    parser.add_argument("precision")
    parser.add_argument("world", type=int)
    parser.add_argument("steps", type=int)
    parser.add_argument("options", nargs="*")
    main(parser.parse_args())
