# SPDX-License-Identifier: Apache-2.0
"""Writes the .pt files of this folder with the installed torch: `python make.py [--zip64]`.

They were made with torch 2.15.0. Every run gives the same bytes but for the records "<prefix>/.data/serialization_id".
--zip64 writes files above 4 GiB into a temporary folder (9 GB) and keeps what is not zero of them as zip64_*.sparse:
u64 size of the file, then pieces of u64 offset, u64 length, bytes; all little-endian.
"""
import collections
import io
import os
import struct
import sys
import tempfile

import torch
from torch.utils.serialization import config

HERE = os.path.dirname(os.path.abspath(__file__))


def here(name):
    return os.path.join(HERE, name)


def ramp(count, dtype):
    return torch.arange(count, dtype=torch.float32).to(dtype)


def small_files():
    names = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "uint16",
             "uint32", "uint64", "float8_e5m2", "float8_e4m3fn", "complex64", "complex128"]
    every = collections.OrderedDict((name, ramp(7, getattr(torch, name))) for name in names)
    every["bool"] = torch.tensor([True, False, True])
    torch.save(every, here("dtypes.pt"))

    torch.save({"empty": torch.empty(0), "also_empty": torch.empty(0, 5, dtype=torch.bfloat16),
                "zero_dim": torch.tensor(2.5), "one": torch.tensor([7], dtype=torch.int64)}, here("tiny.pt"))

    base = ramp(48, torch.float32)
    matrix = base[:24].view(4, 6)
    torch.save({"base": base, "window": base[10:20], "matrix": matrix, "transposed": matrix.t(),
                "column": matrix[:, 1], "expanded": torch.tensor([3.0]).expand(5),
                "parameter": torch.nn.Parameter(base[24:30].clone()), "tied": base[10:20]}, here("views.pt"))

    torch.save({f"layer.{i}.weight": torch.full((3,), float(i)) for i in range(40)}, here("many.pt"))

    with open(here("file_object.pt"), "wb") as file:
        torch.save([torch.ones(5, dtype=torch.bfloat16), {"step": 3, "name": "run"}], file)

    torch.serialization.set_crc32_options(False)
    torch.save({"a": torch.ones(4), "b": torch.empty(0)}, here("no_crc.pt"))
    torch.serialization.set_crc32_options(True)

    config.save.storage_alignment = 256
    torch.save({"a": torch.ones(4), "b": torch.ones(3, dtype=torch.int8)}, here("aligned_256.pt"))
    config.save.storage_alignment = 64

    torch.save({"a": torch.ones(4)}, here("legacy.pt"), _use_new_zipfile_serialization=False)
    torch.jit.save(torch.jit.script(torch.nn.Identity()), here("torchscript.pt"))


def keep_what_is_not_zero(source, target):
    block = 512
    with open(source, "rb") as file, open(target, "wb") as out:
        size = os.fstat(file.fileno()).st_size
        out.write(struct.pack("<Q", size))
        pieces = []
        offset = 0
        zeros = bytes(1 << 20)
        while chunk := file.read(1 << 20):
            if chunk != zeros[:len(chunk)]:
                for at in range(0, len(chunk), block):
                    part = chunk[at:at + block]
                    if part.count(0) == len(part):
                        continue
                    if pieces and pieces[-1][0] + len(pieces[-1][1]) == offset + at:
                        pieces[-1][1] += part
                    else:
                        pieces.append([offset + at, bytearray(part)])
            offset += len(chunk)
        for at, part in pieces:
            out.write(struct.pack("<QQ", at, len(part)) + part)


def zip64_files():
    limit = 0xFFFFFFFF
    cases = {
        # the payload itself is too long for 32 bits
        "zip64_payload": [torch.zeros(limit + 6, dtype=torch.int8), torch.empty(0), torch.ones(2)],
        # no payload is, but the next record is beyond 4 GiB
        "zip64_offset": [torch.ones(3), torch.zeros(limit - 1, dtype=torch.int8), torch.ones(2), torch.empty(0)],
    }
    for name, tensors in cases.items():
        with tempfile.TemporaryDirectory(dir=HERE) as folder:
            path = os.path.join(folder, "big.pt")
            torch.save(tensors, path)
            keep_what_is_not_zero(path, here(name + ".sparse"))


if __name__ == "__main__":
    if "--zip64" in sys.argv[1:]:
        zip64_files()
    else:
        small_files()
