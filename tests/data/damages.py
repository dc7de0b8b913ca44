# SPDX-License-Identifier: Apache-2.0
"""Damages as in real use, applied to a copy of a checkpoint that stock DeepSpeed wrote. Each takes the tag folder of a
ZeRO checkpoint of at least two ranks and damages it in place; metadata is changed with torch."""

import shutil
import struct
import zipfile

import torch


def shard(tag, rank):
    """The optimizer file of a data-parallel rank; of tensor slices and pipeline stages the last one's."""
    part = max(path.name.split("_mp_rank_")[1] for path in tag.glob(f"*zero_pp_rank_{rank}_mp_rank_*_optim_states.pt"))
    found = sorted(tag.glob(f"*zero_pp_rank_{rank}_mp_rank_{part}"))
    if len(found) != 1:
        raise ValueError(f"{len(found)} optimizer files of rank {rank} in {tag}")
    return found[0]


def _edit(path, change):
    content = torch.load(path, weights_only=False)
    change(content)
    torch.save(content, path)


def _repack(path, change):
    with zipfile.ZipFile(path) as source:
        contents = {info.filename: source.read(info) for info in source.infolist()}
    change(contents)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as target:
        for name, content in contents.items():
            target.writestr(name, content)


def _torch_state(content):
    wrapper = content["optimizer_state_dict"]
    return wrapper.get("base_optimizer_state") or wrapper["optimizer_state_dict"]


def pointer_missing(tag):
    (tag.parent / "latest").unlink()


def pointer_dangling(tag):
    (tag.parent / "latest").write_text("global_step999", encoding="utf-8")


def rank_missing(tag):
    shard(tag, 1).unlink()


def first_rank_missing(tag):
    shard(tag, 0).unlink()


def rank_twice(tag):
    """Rank 0's file under rank 1's name, as after a wrong copy."""
    shutil.copyfile(shard(tag, 0), shard(tag, 1))


def names_exchanged(tag):
    """Two ranks' files, each under the other's name."""
    first, second, aside = shard(tag, 0), shard(tag, 1), tag / "aside"
    first.rename(aside)
    second.rename(first)
    aside.rename(second)


def saved_by_nodes(tag):
    """Each rank except the first was on a node of its own, and its disk was copied next to the others."""
    for path in sorted(tag.glob("*zero_pp_rank_*")):
        rank = int(path.name.partition("pp_rank_")[2].partition("_")[0])
        if rank > 0:
            node = tag.parent / f"tmp-node{rank}"
            node.mkdir(exist_ok=True)
            path.rename(node / path.name)


def larger_save_left(tag):
    own = shard(tag, 1)
    shutil.copyfile(own, own.with_name(own.name.replace("rank_1_", "rank_7_")))


def other_precision_left(tag):
    for rank in (0, 1):
        own = shard(tag, rank)
        other = own.name.removeprefix("bf16_") if own.name.startswith("bf16_") else "bf16_" + own.name
        older = own.with_name(other)
        shutil.copyfile(own, older)
    # The family that was saved last is the one that belongs to the model file; the other lacks a rank.
    older.unlink()


def directory_lost(tag):
    path = shard(tag, 1)
    content = path.read_bytes()
    path.write_bytes(content[:content.index(b"PK\x01\x02")])


def _cut(path, part):
    content = path.read_bytes()
    path.write_bytes(content[:int(len(content) * part)])


def cut_short(tag):
    _cut(shard(tag, 1), 1 / 3)


def step_changed(tag):
    """The steps of one rank: its own values with the step of another state."""
    def change(content):
        for entry in _torch_state(content)["state"].values():
            entry["step"] = entry["step"] + 3
    _edit(shard(tag, 1), change)


def option_changed(tag):
    def change(content):
        for group in _torch_state(content)["param_groups"]:
            group["lr"] = group["lr"] * 2
    _edit(shard(tag, 1), change)


def weights_dragging(tag):
    """The result of saving views: every weight is saved with the whole buffer that it was a part of."""
    def change(content):
        for name, value in content["module"].items():
            if value.numel() > 0 and value.is_floating_point():
                buffer = torch.cat([value.flatten(), torch.zeros(1 << 16, dtype=value.dtype)])
                content["module"][name] = buffer[:value.numel()].view(value.shape)
    for path in tag.glob("*model_states.pt"):
        _edit(path, change)


def record_missing(tag):
    """A file that was packed again without its largest record."""
    def change(contents):
        del contents[max((name for name in contents if "/data/" in name), key=lambda name: len(contents[name]))]
    _repack(shard(tag, 1), change)


def packed_by_others(tag):
    """A file whose records were taken out and packed again, by a program that aligns nothing."""
    _repack(shard(tag, 1), lambda contents: None)


def record_added(tag):
    """A record that the pickle does not name."""
    def change(contents):
        prefix = next(iter(contents)).partition("/")[0]
        contents[f"{prefix}/data/999"] = bytes(1000)
    _repack(shard(tag, 1), change)


def sums_left_out(tag):
    """As torch saves without checksums."""
    path = shard(tag, 1)
    content = torch.load(path, weights_only=False)
    torch.serialization.set_crc32_options(False)
    torch.save(content, path)
    torch.serialization.set_crc32_options(True)


def universal_overlong(tag):
    """As converters wrote files that did not remove the padding."""
    entry = sorted(path for path in (tag / "zero").iterdir() if (path / "exp_avg.pt").exists())[-1]
    for path in sorted(entry.glob("*.pt")):
        content = torch.load(path, weights_only=False)
        if isinstance(content, dict):
            content["param"] = torch.cat([content["param"].flatten(), torch.zeros(3)])
            torch.save(content, path)


def _edit_shards(tag, change):
    for path in sorted(tag.glob("*zero_pp_rank_*_optim_states.pt")):
        _edit(path, change)


def steps_behind(tag):
    """On all ranks the optimizer's step is three less than the engine's."""
    def change(content):
        for entry in _torch_state(content)["state"].values():
            entry["step"] = entry["step"] - 3
    _edit_shards(tag, change)


def rates_changed(tag):
    """On all ranks the learning rates differ from the scheduler's."""
    def change(content):
        for group in _torch_state(content)["param_groups"]:
            group["lr"] = group["lr"] * 2
    _edit_shards(tag, change)


def tie_diverged(tag):
    """Two names of one parameter, with values of their own."""
    def change(content):
        content["module"]["lm_head.weight"] = content["module"]["lm_head.weight"].clone() + 1
    _edit(tag / "mp_rank_00_model_states.pt", change)


def order_without_round_robin(tag):
    """The flat buffers of a run with round_robin_gradients in the order without it; their record stays."""
    paths = [shard(tag, rank) for rank in range(len(list(tag.glob("*_optim_states.pt"))))]
    contents = [torch.load(path, weights_only=False) for path in paths]
    shapes = torch.load(tag / "mp_rank_00_model_states.pt", weights_only=False)["param_shapes"]

    def lay_out(group, tensors, put):
        sizes = [shape.numel() for shape in shapes[group].values()]
        flat = torch.cat(tensors)
        listed = flat[:sum(sizes)].split(sizes)
        places = [place for hand in range(len(paths)) for place in range(hand, len(sizes), len(paths))]
        plain = [None] * len(sizes)
        for piece, place in zip(listed, places):
            plain[place] = piece
        for rank, part in enumerate(torch.cat([*plain, flat[sum(sizes):]]).split([len(t) for t in tensors])):
            put(contents[rank], part.clone())

    for group in range(len(shapes)):
        masters = [content["optimizer_state_dict"]["single_partition_of_fp32_groups"] for content in contents]
        lay_out(group, [one[group] for one in masters],
                lambda content, part: content["optimizer_state_dict"]["single_partition_of_fp32_groups"].__setitem__(
                    group, part))
        for key in ("exp_avg", "exp_avg_sq"):
            lay_out(group, [_torch_state(content)["state"][group][key] for content in contents],
                    lambda content, part: _torch_state(content)["state"][group].__setitem__(key, part))
    for path, content in zip(paths, contents):
        torch.save(content, path)


def masters_cut(tag):
    """A shard whose masters are shorter than its rank's share."""
    def change(content):
        wrapper = content["optimizer_state_dict"]
        key = "fp32_flat_groups" if "fp32_flat_groups" in wrapper else "single_partition_of_fp32_groups"
        wrapper[key] = [group[:group.numel() // 2].clone() for group in wrapper[key]]
    _edit(shard(tag, 1), change)


def bytes_behind_the_end(tag):
    with open(shard(tag, 1), "ab") as file:
        file.write(b"left over from a longer file of the same name")


def world_size_zero(tag):
    """As in files that other tools converted."""
    for path in sorted(tag.glob("*model_states.pt")):
        _edit(path, lambda content: content.update(dp_world_size=0))


def _largest_record(path):
    """Where the header and the payload of a file's largest storage begin, and the payload's size."""
    with zipfile.ZipFile(path) as archive:
        storages = [info for info in archive.infolist() if "/data/" in info.filename]
        found = max(storages, key=lambda info: info.file_size)
        archive.fp.seek(found.header_offset + 26)
        name, extra = struct.unpack("<HH", archive.fp.read(4))
        return found.header_offset, found.header_offset + 30 + name + extra, found.file_size


def record_header_lost(tag):
    """A record without a valid header, as a block of zeros in the middle of a file leaves it."""
    path = shard(tag, 1)
    header, payload, _ = _largest_record(path)
    with open(path, "r+b") as file:
        file.seek(header)
        file.write(bytes(payload - header))


def _flip_in_largest_record(path):
    _, payload, size = _largest_record(path)
    with open(path, "r+b") as file:
        file.seek(payload + size // 2)
        byte = file.read(1)[0]
        file.seek(-1, 1)
        file.write(bytes([byte ^ 1]))


def bit_flipped(tag):
    """One bit of one value, which only the record's checksum detects."""
    _flip_in_largest_record(shard(tag, 1))


def weight_bit_flipped(tag):
    """The same in a weight, not in the masters."""
    _flip_in_largest_record(tag / "mp_rank_00_model_states.pt")


def weights_spoiled(tag):
    """NaN among the weights of the model file, but not in the masters."""
    def change(content):
        weight = next(value for name, value in content["module"].items() if name in content["param_shapes"][0])
        weight.view(-1)[2:5] = float("nan")
    _edit(tag / "mp_rank_00_model_states.pt", change)


def model_files_missing(tag):
    for path in tag.glob("*model_states.pt"):
        path.unlink()


def model_files_cut(tag):
    for path in tag.glob("*model_states.pt"):
        _cut(path, 0.6)


def frozen_missing(tag):
    """A frozen parameter that is listed, and that no file holds."""
    def change(content):
        name = next(name for name, shape in content["frozen_param_shapes"].items() if shape.numel() > 0)
        del content["frozen_param_fragments"][name]
        if content["module"][name].numel() > 0:  # ZeRO-3 lists all names, with empty tensors
            del content["module"][name]
    for path in tag.glob("*model_states.pt"):
        _edit(path, change)


def buffer_missing(tag):
    def change(content):
        del content["module"][content["buffer_names"][0]]
    for path in tag.glob("*model_states.pt"):
        _edit(path, change)


def expert_missing(tag):
    """The file of one expert's weights, in every layer with several experts."""
    for path in tag.glob("layer_*_expert_1_mp_rank_00_model_states.pt"):
        path.unlink()


def _first_state(content):
    return next(iter(_torch_state(content)["state"].values()))


def moments_spoiled(tag):
    """The result of an overflow: NaN and infinity among the first moments, a negative mean of squares."""
    def change(content):
        state = _first_state(content)
        state["exp_avg"].view(-1)[3:6] = float("nan")
        state["exp_avg"].view(-1)[8] = float("-inf")
        state["exp_avg_sq"].view(-1)[5] = -1.0
    _edit(shard(tag, 1), change)


def moment_missing(tag):
    _edit(shard(tag, 1), lambda content: _first_state(content).pop("exp_avg"))


def masters_fresh(tag):
    """Masters of one group as initialised by another seed, on every rank."""
    def change(content):
        wrapper = content["optimizer_state_dict"]
        key = "fp32_flat_groups" if "fp32_flat_groups" in wrapper else "single_partition_of_fp32_groups"
        generator = torch.Generator().manual_seed(3)
        first = wrapper[key][0]
        with torch.no_grad():
            first.copy_(torch.randn(first.shape, generator=generator))
    for path in sorted(tag.glob("*_optim_states.pt")):
        _edit(path, change)
