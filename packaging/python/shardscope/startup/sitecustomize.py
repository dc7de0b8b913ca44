# SPDX-License-Identifier: Apache-2.0
"""Replaces `load_checkpoint` in every process that `python -m shardscope.run` starts. Lightning starts its ranks itself, and
scripts start theirs with multiprocessing: a rank without it would wait for the others in another collective call.

Python imports this module at its start, because run.py puts this folder first in PYTHONPATH. It imports nothing else
until DeepSpeed is imported.
"""

import os
import sys
import types

_ENGINE = "deepspeed.runtime.engine"


class _Finder:
    """Finds DeepSpeed's engine once, as the other finders do, and lets install() follow the import."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None):  # type: ignore[no-untyped-def]
        if name != _ENGINE:
            return None
        import importlib.util

        sys.meta_path.remove(_Finder)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_install(module: types.ModuleType) -> None:
            execute(module)
            _install()

        spec.loader.exec_module = execute_and_install  # type: ignore[method-assign, assignment]
        return spec


def _install() -> None:
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if root not in sys.path:  # of a process with another folder of modules
        sys.path.append(root)
    from shardscope.deepspeed import install

    install()


def install_with_engine() -> None:
    """Calls install() as soon as DeepSpeed is imported. Scripts set variables of the environment before that."""
    if _ENGINE in sys.modules:
        _install()
    elif _Finder not in sys.meta_path:  # type: ignore[comparison-overlap]
        sys.meta_path.insert(0, _Finder)


def _import_hidden() -> None:
    """Imports the sitecustomize that Python would have found without this folder."""
    own = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != own]
    this = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # type: ignore[import-not-found, unused-ignore] # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        sys.modules["sitecustomize"] = this


if __name__ == "sitecustomize":
    install_with_engine()
    _import_hidden()
