#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes narrow_floats.tsv: the value of each pattern of a narrow float according to torch. Usage: make.py [OUTPUT_FOLDER].

Columns: dtype, bits in hex, the same value as float32 bits in hex ("nan" for any nan). All 256 patterns of the 8-bit
types, a sample of the 16-bit ones.
"""
import pathlib
import sys

import torch

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
rows = []
for name in ("float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz", "float8_e8m0fnu", "float16", "bfloat16"):
    dtype = getattr(torch, name)
    wide = dtype.itemsize == 2
    patterns = sorted({*range(0, 65536, 331), 0, 1, 0x3FF, 0x400, 0x7BFF, 0x7C00, 0x7F80, 0x8000, 0x8001, 0xFC00, 0xFFFF}
                      ) if wide else range(256)
    bits = torch.tensor(list(patterns), dtype=torch.int32).to(torch.uint16 if wide else torch.uint8)
    values = bits.view(dtype).to(torch.float32)
    for pattern, value in zip(patterns, values):
        text = "nan" if value.isnan() else f"{value.view(torch.int32).item() & 0xFFFFFFFF:08x}"
        rows.append(f"{name}\t{pattern:x}\t{text}\n")
(folder / "narrow_floats.tsv").write_text("".join(rows))
