#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/samples/zero3-elastic-w3 from zero3-universal-w3, which stock DeepSpeed trained and saved.

The files are converted: no release of DeepSpeed writes elastic ZeRO-3 (../interop/runs/elastic_zero3.py describes it). The
engine's state is the one in zero3-universal-w3.json.
"""

import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "interop"))

import environment  # noqa: E402

if __name__ == "__main__":
    environment.enter()
    from runs.elastic_zero3 import rewrite
    samples = HERE / "samples"
    source, target = samples / "zero3-universal-w3", samples / "zero3-elastic-w3"
    rewrite(source, target, "copies")
    shutil.rmtree(next(target.glob("global_step*_universal")))
    (target / "latest_universal").unlink()
    shutil.copyfile(source.with_suffix(".json"), target.with_suffix(".json"))
