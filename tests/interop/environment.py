# SPDX-License-Identifier: Apache-2.0
"""A Python with PyTorch and DeepSpeed: a virtual environment in the user's cache, made once per requirements.txt."""

import atexit
import contextlib
import gc
import hashlib
import importlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements.txt"
WRAPPERS = HERE / "requirements-wrappers.txt"


def cache_folder():
    base = os.environ.get("SHARDSCOPE_CACHE")
    if base:
        return Path(base)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shardscope"


def _environment_folder():
    digest = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]
    return cache_folder() / f"interop-{digest}"


def _ensure_python():
    """The interpreter of the environment; installs it if it is missing or incomplete."""
    chosen = os.environ.get("SHARDSCOPE_INTEROP_PYTHON")
    if chosen:
        return Path(chosen)
    folder = _environment_folder()
    python = folder / "bin" / "python"
    complete = folder / "complete"
    if not complete.exists():
        print(f"Setting up PyTorch and DeepSpeed in {folder} (about 3 GB are downloaded, once)", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]
        subprocess.run([*pip, str(REQUIREMENTS)], check=True)
        complete.touch()
    return python


def enter():
    """Runs this program again in the environment, unless it runs there already; sets what DeepSpeed needs on CPU."""
    if os.environ.get("SHARDSCOPE_INTEROP_ENTERED") != "1":
        python = _ensure_python()
        os.environ["PATH"] = f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        os.environ["SHARDSCOPE_INTEROP_ENTERED"] = "1"
        os.execv(python, [str(python), *sys.argv])
    os.environ.update(DS_ACCELERATOR="cpu", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    os.environ.setdefault("TORCH_EXTENSIONS_DIR", str(cache_folder() / "torch-extensions"))
    # Set by the deepspeed launcher; with it, each run would leave shared memory behind.
    os.environ.pop("LOCAL_SIZE", None)


def use_frameworks():
    """Adds the frameworks around DeepSpeed to the environment, once per requirements-wrappers.txt."""
    if os.environ.get("SHARDSCOPE_INTEROP_PYTHON"):
        return
    digest = hashlib.sha256(WRAPPERS.read_bytes()).hexdigest()[:12]
    complete = _environment_folder() / f"wrappers-{digest}"
    if not complete.exists():
        print("Setting up Transformers, Accelerate and Lightning", flush=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-c", str(REQUIREMENTS), "-r", str(WRAPPERS)], check=True)
        complete.touch()


def use_deepspeed(version):
    """Puts another version of DeepSpeed before the environment's own; it runs with the same PyTorch."""
    folder = cache_folder() / f"deepspeed-{version}"
    complete = folder / "complete"
    if not complete.exists():
        print(f"Setting up DeepSpeed {version} in {folder}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "--no-build-isolation", "--target", str(folder), f"deepspeed=={version}"], check=True)
        complete.touch()
    os.environ["TORCH_EXTENSIONS_DIR"] += f"-{version}"
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = str(folder)  # of scripts that a case starts
    if version.startswith("0.14."):
        os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"  # it loads with the default of the torch of its day


def import_judges(ops=()):
    """Imports torch and DeepSpeed before any rank is forked, and builds the ops that ranks would wait for.

    This includes what each rank would import at its first optimizer, which takes most of a short run's time.
    """
    import deepspeed  # noqa: F401
    import torch
    from torch import _dynamo
    _dynamo.config.disable = True  # compiling Muon's kernels takes minutes, and gives other roundings
    for module in ("deepspeed.runtime.zero.muon.muon_optimizer", "deepspeed.runtime.zero.stage3",
                   "deepspeed.runtime.zero.stage_1_and_2", "deepspeed.runtime.bf16_optimizer"):
        with contextlib.suppress(ImportError):  # not in every release
            importlib.import_module(module)
    from deepspeed.accelerator import get_accelerator
    torch.set_num_threads(1)
    for builder in ("ShareMemCommBuilder", *ops):
        get_accelerator().create_op_builder(builder).load()
    gc.freeze()  # otherwise every rank's first collection walks, and copies, everything that was imported
    atexit.register(gc.unfreeze)
