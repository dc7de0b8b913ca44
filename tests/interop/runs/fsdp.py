# SPDX-License-Identifier: Apache-2.0
"""A model in FSDP2 of stock torch, which loads a DeepSpeed checkpoint with torch.distributed.checkpoint and trains on."""

import sys
import warnings

import torch


def _sharded(setup, world):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    from runs import setups
    from runs.model import build_model, split_parameters
    torch.set_num_threads(1)
    model = build_model(99, **dict(setup.shape))  # other values than the checkpoint's
    mesh = init_device_mesh("cpu", (world,))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(setups.optimizer_groups(setup, *split_parameters(model)), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=400, eta_min=1e-5)
    return model, optimizer, scheduler


def _bytes(tensor):
    whole = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    whole = whole.detach().contiguous()
    return (str(whole.dtype), tuple(whole.shape), whole.reshape(-1).view(torch.uint8).numpy().tobytes() if whole.numel() else b"")


def _load(state, folder, by_address, dialect):
    import fsspec
    from torch.distributed import checkpoint

    from shardscope.dcp import Source, StorageReader
    fsspec.process_entries()  # of the package, where another case has imported fsspec before
    asked = []
    ask_box = Source.ask_box

    def counted(self, native, offsets, sizes):
        asked.append((native, torch.Size(sizes).numel()))
        return ask_box(self, native, offsets, sizes)

    Source.ask_box = counted
    query = f"?dialect={dialect}" if dialect else ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if by_address:
            checkpoint.load(state, checkpoint_id=f"shardscope://{folder}{query}")
        else:
            checkpoint.load(state, storage_reader=StorageReader(folder, dialect))
    return asked


def resume(rank, world, setup, folder, package, by_address, dialect, first, steps):
    """What came to the rank: tensors, options and the boxes that were read; and its losses."""
    sys.path.insert(0, package)
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

    from runs.model import make_batch
    from runs.setups import GLOBAL_BATCH
    model, optimizer, scheduler = _sharded(setup, world)
    weights, states = get_state_dict(model, optimizer)
    model_key, optimizer_key = {None: ("model", "optim"), "accelerate": ("model", "optimizer")}[dialect]
    state = {model_key: weights, optimizer_key: states, "deepspeed": {"lr_scheduler": None, "global_steps": 0}}
    asked = _load(state, folder, by_address, dialect)
    set_state_dict(model, optimizer, model_state_dict=state[model_key], optim_state_dict=state[optimizer_key])
    scheduler.load_state_dict(state["deepspeed"]["lr_scheduler"])
    found = {f"weight {name}": _bytes(value) for name, value in model.state_dict().items()}
    for name, parameter in model.named_parameters():
        for kind, value in optimizer.state.get(parameter, {}).items():
            found[f"{name}#{kind}"] = _bytes(value)
    sharded = [name for name, value in model.state_dict().items() if hasattr(value, "full_tensor")]
    groups = [{key: value for key, value in group.items() if key != "params"} for group in optimizer.param_groups]
    losses = []
    for step in range(first, first + steps):
        local = make_batch(step, GLOBAL_BATCH, 8, 32).chunk(world)[rank]
        loss = model(local)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
    return {"tensors": found, "sharded": sharded, "groups": groups, "asked": asked, "steps": state["deepspeed"]["global_steps"],
            "losses": losses}


def wrong_load(rank, world, setup, folder, package):
    """The error of a tensor that is not there, and of one that has another shape."""
    sys.path.insert(0, package)
    from torch.distributed import checkpoint

    from shardscope.dcp import StorageReader
    out = []
    for state in ({"model": {"absent.weight": torch.zeros(3)}}, {"model": {"norm.weight": torch.zeros(2, 5)}}):
        try:
            checkpoint.load(state, storage_reader=StorageReader(folder))
            out.append("loaded")
        except BaseException as error:  # as torch's is
            out.append(f"{type(error).__name__}: {error}")
    return out


def loads_again(rank, world, folder, package):
    """What loads of one address give while the run goes on, its program dies, and keys are wrong; and how many programs
    are left."""
    sys.path.insert(0, package)
    import gc
    import os
    import signal
    from pathlib import Path

    import fsspec
    from torch.distributed import checkpoint

    from shardscope import filesystem
    from shardscope.dcp import StorageReader
    fsspec.process_entries()
    warnings.simplefilter("ignore")

    def steps():
        state = {"deepspeed": {"global_steps": None}}
        checkpoint.load(state, checkpoint_id=f"shardscope://{folder}")
        return state["deepspeed"]["global_steps"]

    def programs():
        gc.collect()
        found = []
        for path in Path("/proc/self/task").glob("*/children"):
            found += [int(word) for word in path.read_text().split()]
        return [pid for pid in found if b"serve" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    out = {"first": steps()}
    Path(folder, "latest").write_text("global_step3")
    out["after another save"] = steps()
    os.kill(programs()[0], signal.SIGKILL)
    out["after a kill"] = steps()
    filesystem._forget()
    for number, keys in enumerate(({"model": {"absent": torch.zeros(2)}}, {"optimizer": {"param_groups.norm.weight.absent": 7}},
                 {"optim": {"param_groups.norm.weight.absent": 7}}, {"optim": {"state": {"norm.weight": {"absent": 7}}}})):
        try:
            checkpoint.load(keys, storage_reader=StorageReader(folder))
            out[f"keys {number}"] = "kept"
        except BaseException as error:
            out[f"keys {number}"] = str(error).strip().splitlines()[-1]
            del error
    out["programs"] = len(programs())
    return out
