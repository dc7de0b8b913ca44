# SPDX-License-Identifier: Apache-2.0
"""Reads the whole training state out of live DeepSpeed engines, in a form that does not depend on the world size.

Each rank splits its flat partitions into fragments of parameters by the layout that its engine built; the fragments
of all ranks are merged here. DeepSpeed's accessors (safe_get_full_fp32_param and similar) are not used: they take the
layout from mappings that are wrong for some configurations.
"""

import hashlib

import numpy
import torch


def _raw(tensor):
    """Dtype, shape and bytes: equal only if the bits are equal."""
    tensor = tensor.detach().cpu().contiguous()
    data = tensor.reshape(-1).view(torch.uint8) if tensor.numel() else tensor.new_empty(0, dtype=torch.uint8)
    return (str(tensor.dtype), tuple(tensor.shape), data.numpy().tobytes())


def plain(value):
    """A value as nested tuples with its type; floats by their bits."""
    if torch.is_tensor(value):
        return ("tensor", *_raw(value))
    if isinstance(value, float):
        return ("float", value.hex())
    if isinstance(value, dict):
        return ("dict", tuple(sorted((str(key), plain(item)) for key, item in value.items())))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, tuple(plain(item) for item in value))
    if isinstance(value, numpy.generic):
        return ("numpy", str(value.dtype), value.tobytes())
    return (type(value).__name__, repr(value))


def _same_name(name, parameter):
    return name


def _share(optimizer, index, rank):
    """This rank's place among those that share a group's partition; experts are not shared by all."""
    from deepspeed import comm
    groups = getattr(optimizer, "real_dp_process_group", None)
    return comm.get_rank(group=groups[index]) if groups else rank


def _stage_0_groups(engine, rename):
    """Yields (param group, tensor that the optimizer steps, fragments): every rank holds all of it."""
    names = {parameter: rename(name, parameter) for parameter, name in engine.param_names.items()}
    optimizer = engine.optimizer
    if hasattr(optimizer, "fp32_groups_flat"):
        for index, flat in enumerate(optimizer.fp32_groups_flat):
            fragments, offset = [], 0
            for parameter in optimizer.fp16_groups[index]:
                fragments.append((names[parameter], parameter.numel(), 0, offset, parameter.numel()))
                offset += parameter.numel()
            yield index, flat, fragments
        return
    inner = getattr(optimizer, "optimizer", optimizer)
    copies = getattr(optimizer, "fp16_groups", [group["params"] for group in inner.param_groups])
    masters = getattr(optimizer, "fp32_groups", copies)
    for index, group in enumerate(masters):
        for copy, master in zip(copies[index], group, strict=True):
            yield index, master, [(names[copy], master.numel(), 0, 0, master.numel())]


def _flat_groups(engine, rank, rename):
    """Yields (param group, flat partition, fragments); a fragment is (name, numel, start in parameter, start in
    partition, elements)."""
    if engine.zero_optimization_stage() == 0 and not hasattr(engine.optimizer, "bf16_groups"):
        yield from _stage_0_groups(engine, rename)
        return
    optimizer = engine.optimizer
    # Not every version's optimizer keeps them.
    names = {parameter: rename(name, parameter) for parameter, name in engine.param_names.items()}
    if hasattr(optimizer, "fp16_partitioned_groups_flat"):
        from deepspeed import comm
        rank = comm.get_rank(group=optimizer.dp_process_group)
        for index, parameters in enumerate(optimizer.fp16_groups):
            fragments, offset = [], 0
            if hasattr(optimizer, "_get_sub_group_partition_rank"):  # experts are not shared by all
                rank = optimizer._get_sub_group_partition_rank(index)
            for parameter in parameters:
                share = parameter.partition_numel()
                start = min(rank * share, parameter.ds_numel)
                end = min((rank + 1) * share, parameter.ds_numel)
                fragments.append((names[parameter], parameter.ds_numel, start, offset, end - start))
                offset += share
            partition = optimizer.fp32_partitioned_groups_flat[index]
            swapped = optimizer._swappable_optimizer_subgroup(index)
            if swapped:
                optimizer._optimizer_states_and_gradient_swap_in(index)
            yield optimizer.sub_group_to_group_id[index], partition, fragments
            if swapped:
                optimizer._release_swap_buffers(index)
        return
    bf16 = hasattr(optimizer, "fp32_groups_flat_partition")
    partitions = optimizer.fp32_groups_flat_partition if bf16 else optimizer.single_partition_of_fp32_groups
    # Missing in releases without alignment of single parameters: they are adjacent.
    offsets = getattr(optimizer, "round_robin_bit16_offsets", None)
    for index, partition in enumerate(partitions):
        parameters = optimizer.bf16_groups[index] if bf16 else optimizer.round_robin_bit16_groups[index]
        low = _share(optimizer, index, rank) * partition.numel()
        high = low + partition.numel()
        fragments, offset = [], 0
        for position, parameter in enumerate(parameters):
            if offsets:
                offset = offsets[index][position]
            start, end = max(low, offset), min(high, offset + parameter.numel())
            fragments.append((names[parameter], parameter.numel(), start - offset, start - low, max(0, end - start)))
            offset += parameter.numel()
        yield index, partition, fragments


def _muon_share(value, partition, cuts):
    """A rank's share of Muon's momentum, in the layout of the partition. ZeRO-1/2 keep it for whole parameters."""
    if value.shape == partition.shape:
        return value
    mine = [cut for cut in cuts if cut[4] > 0]
    if not mine:
        return None
    if value.numel() != sum(numel for _, numel, *_ in mine):
        raise Disagreement(f"momentum of {value.numel()} elements for a partition of {partition.numel()}")
    share = value.new_zeros(partition.shape)
    count = sum(cut[4] for cut in mine)
    share[:count] = value[mine[0][2]:mine[0][2] + count]
    return share


def _module_weights(engine, rename):
    weights = {}
    if engine.zero_optimization_stage() == 3:
        from deepspeed.runtime.zero import GatheredParameters
        for name, parameter in engine.module.named_parameters():
            with GatheredParameters([parameter]):
                weights[rename(name, parameter)] = _raw(parameter)
    else:
        weights.update((rename(name, parameter), _raw(parameter))
                       for name, parameter in engine.module.named_parameters())
    weights.update((rename(name, buffer), _raw(buffer)) for name, buffer in engine.module.named_buffers())
    return weights


def _scaling_without_zero(optimizer):
    """Of the wrappers of fp16. Up to 0.16 it is in the wrapper itself."""
    config = getattr(optimizer, "loss_scale_config", None)
    if config is not None:
        return vars(config)
    own = vars(optimizer)
    return {key: own[key] for key in ("dynamic_loss_scale", "cur_iter", "cur_scale", "last_overflow_iter", "scale_factor",
                                      "scale_window", "min_loss_scale") if key in own} if "cur_iter" in own else {}


def _scalars(engine):
    optimizer = engine.optimizer
    scaler = getattr(optimizer, "loss_scaler", None)
    scaling = _scaling_without_zero(optimizer)
    inner = getattr(optimizer, "optimizer", optimizer)
    schedule = engine.lr_scheduler.state_dict() if engine.lr_scheduler else None
    return {
        "loss_scaler": None if scaler is None else (type(scaler).__name__, plain(vars(scaler))),
        "dynamic_loss_scale": plain(getattr(optimizer, "dynamic_loss_scale", None)),
        **({"loss_scale_config": plain(scaling)} if scaling else {}),
        "overflow": plain(getattr(optimizer, "overflow", None)),
        "clip_grad": plain(getattr(optimizer, "clip_grad", None)),
        "lr_scheduler": plain(schedule),
        "global_steps": plain(engine.global_steps),
        "global_samples": plain(engine.global_samples),
        "skipped_steps": plain(engine.skipped_steps),
        **{f"group {index} {key}": plain(value)
           for index, group in enumerate(inner.param_groups)
           for key, value in group.items() if key != "params"},
    }


def own_state(engine, rank):
    """This rank's part, read without other ranks, which may have ended; to compare with itself alone."""
    partitions = {name: _digest(parameter.ds_tensor) for name, parameter in engine.module.named_parameters()
                  if hasattr(parameter, "ds_tensor")}
    fragments = [(group, _digest(partition), {key: _digest(value) for key, value in _states(engine, partition).items()})
                 for group, partition, _ in _flat_groups(engine, rank, _same_name)]
    tensors = [] if partitions else [*engine.module.named_parameters(), *engine.module.named_buffers()]
    weights = {name: _digest(tensor) for name, tensor in tensors}
    return {"fragments": fragments, "scalars": _scalars(engine), "weights": weights, "partitions": partitions}


def _digest(value):
    """Differs if a bit does; short."""
    if not torch.is_tensor(value):
        return plain(value)
    dtype, shape, data = _raw(value)
    return dtype, shape, hashlib.sha256(data).hexdigest()


def _states(engine, partition):
    return getattr(engine.optimizer, "optimizer", engine.optimizer).state.get(partition, {})


def local_state(engine, rank, rename=_same_name, data_rank=None):
    """This rank's part: runs on every rank together, because ZeRO-3 gathers its weights. `rename(name, parameter)`
    gives different names to parameters that have one name and differ between ranks. `data_rank`: among the ranks that
    hold the same parameters, if these are not all ranks."""
    data_rank = rank if data_rank is None else data_rank
    fragments, scalars = [], _scalars(engine)
    for group, partition, cuts in _flat_groups(engine, rank, rename):
        partitioned = engine.zero_optimization_stage() > 0 or hasattr(engine.optimizer, "bf16_groups")
        if not partitioned and data_rank > 0:
            break  # the first has everything; merge() would find it twice
        states = {"fp32": partition}
        inner = getattr(engine.optimizer, "optimizer", engine.optimizer)
        muon = group < len(inner.param_groups) and inner.param_groups[group].get("use_muon", False)
        for key, value in inner.state.get(partition, {}).items():
            if muon and key == "momentum_buffer" and engine.zero_optimization_stage() > 0:
                value = _muon_share(value, partition, cuts)
                if value is not None:
                    states[key] = value
                continue
            if torch.is_tensor(value) and value.dim() > 0 and value.shape == partition.shape:
                states[key] = value
            else:
                # One flat tensor has one step; every parameter in it shares the value.
                for name, *_ in cuts:
                    scalars[f"{name} {key}"] = plain(value)
        for name, numel, start, offset, count in cuts:
            for key, tensor in states.items():
                fragments.append((name, key, numel, start, group, _raw(tensor.reshape(-1).narrow(0, offset, count))
                                  if count else (str(tensor.dtype), (0,), b"")))
    return {"fragments": fragments, "scalars": scalars, "weights": _module_weights(engine, rename),
            "transposed": _transposed(engine, rename)}


def _transposed(engine, rename):
    """Shapes of the matrices that ZenFlow's flat buffers hold column by column, by name."""
    if engine.zero_optimization_stage() not in (1, 2):
        return {}
    return {rename(name, parameter): tuple(parameter.shape) for parameter, name in engine.param_names.items()
            if parameter.dim() == 2 and not parameter.is_contiguous()}


class Disagreement(RuntimeError):
    """Ranks of one run hold different values where one is expected, or leave a gap."""


def merge(parts):
    """One flat dictionary of everything: 'NAME#STATE' tensors, weights and scalars."""
    whole = {}
    for rank, part in enumerate(parts):
        for kind in ("scalars", "weights"):
            for key, value in part[kind].items():
                label = f"{kind[:-1]} {key}"
                if whole.setdefault(label, value) != value:
                    raise Disagreement(f"rank {rank} holds another value of {label} than rank 0")
    pieces = {}
    for part in parts:
        for name, state, numel, start, group, (dtype, _, data) in part["fragments"]:
            entry = pieces.setdefault(f"{name}#{state}", [])
            if data:
                entry.append((start, data))
            whole[f"group of {name}"] = group
            whole[f"dtype of {name}#{state}"] = dtype
            whole[f"elements of {name}"] = numel
    for address, entry in pieces.items():
        width = torch.empty(0, dtype=getattr(torch, whole[f"dtype of {address}"].removeprefix("torch."))).element_size()
        data, expected = bytearray(), 0
        for start, piece in sorted(entry):
            if start != expected:
                raise Disagreement(f"{address}: element {expected} is on no rank")
            data += piece
            expected += len(piece) // width
        if expected != whole[f"elements of {address.rpartition('#')[0]}"]:
            raise Disagreement(f"{address}: elements from {expected} on are on no rank")
        shape = parts[0].get("transposed", {}).get(address.rpartition("#")[0])
        whole[address] = _by_rows(bytes(data), shape, width) if shape else bytes(data)
    return whole


def _by_rows(data, shape, width):
    """A matrix that was stored column by column, row by row."""
    return numpy.frombuffer(data, dtype=f"V{width}").reshape(shape[1], shape[0]).T.tobytes()


def _widened(state):
    """Muon's momentum as fp32, with the same values: ZeRO-1/2 keep it in the gradients' dtype, loading converts it to
    fp32, and the next step converts it back."""
    out = dict(state)
    for label, value in state.items():
        if label.endswith("#momentum_buffer") and state.get(f"dtype of {label}") == "torch.bfloat16":
            wide = torch.frombuffer(bytearray(value), dtype=torch.bfloat16).float()
            out[label] = wide.view(torch.uint8).numpy().tobytes()
            out[f"dtype of {label}"] = "torch.float32"
    return out


def differences(left, right, ignore=()):
    """Labels of everything that is not the same bit for bit, with a short reason."""
    found = []
    left, right = _widened(left), _widened(right)
    for label in sorted(left.keys() | right.keys()):
        if label in ignore:
            continue
        if label not in left or label not in right:
            found.append(f"{label}: only {'before' if label in left else 'after'}")
        elif left[label] != right[label]:
            found.append(f"{label}: {_reason(left[label], right[label])}")
    return found


def _reason(left, right):
    if isinstance(left, bytes) and isinstance(right, bytes):
        count = sum(a != b for a, b in zip(left, right))
        return f"{count} of {len(left)} bytes differ"
    return f"{str(left)[:80]} became {str(right)[:80]}"
