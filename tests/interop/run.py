#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests shardscope's output with stock DeepSpeed.

    tests/interop/run.py --shardscope build/dev/bin/shardscope            the short run
    tests/interop/run.py --shardscope … --subset full                     every case
    tests/interop/run.py --shardscope … --only 'zero3-bf16*4->2'          cases whose name matches
    tests/interop/run.py --list

The first call sets up a Python environment with PyTorch and DeepSpeed in the user's cache folder.
"""

# This folder is the root of all imports. It holds the programs and the lists of cases (matrix*.py). Below it:
#   runs/       stock DeepSpeed on ranks: models, setups, training, saving and loading
#   compare/    calls shardscope, reads the state of live engines, and compares
#   cases/      cases that rewrite, convert and export checkpoints
#   diagnosis/  cases about check, repair, diff and fingerprint

import argparse
import fnmatch
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

import environment

# The messages of these modules' exceptions suffice: no traceback is printed.
EXPECTED = ("compare.checks", "compare.live_state", "compare.payload", "compare.structure", "compare.tool",
            "runs.ranks", "runs.sources")


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shardscope", type=Path, help="the built command-line program")
    parser.add_argument("--subset", choices=("ci", "full"), default="ci")
    parser.add_argument("--only", metavar="PATTERN", help="run cases of the full run whose name contains this pattern")
    parser.add_argument("--deepspeed", metavar="VERSION", help="run the cases for this release, in it")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="work in this folder and keep everything there")
    parser.add_argument("--curves", type=Path, metavar="PNG", help="also run the long training and draw its losses")
    parser.add_argument("--only-curves", type=Path, metavar="PNG", help="run only the long training")
    parser.add_argument("--live", action="store_true",
                        help="let the ranks load what is resharded from its source, without the copy")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    return parser.parse_args()


def _selected(arguments):
    import matrix
    if arguments.deepspeed:
        pattern = f"*{(arguments.only or '*').replace('[', '[[]')}*"
        return [case for case in matrix.OLDER[arguments.deepspeed]() if fnmatch.fnmatchcase(case.name, pattern)]
    if arguments.only:
        pattern = f"*{arguments.only.replace('[', '[[]')}*"
        return [case for case in matrix.RUNS["full"]() if fnmatch.fnmatchcase(case.name, pattern)]
    return matrix.RUNS[arguments.subset]()


def _run_case(case, context):
    began = time.monotonic()
    context.tool.case = case.name
    try:
        note, passed = case.run(context), True
    except Exception as error:
        known = type(error).__module__ in EXPECTED
        note, passed = str(error) if known else traceback.format_exc(), False
    print(f"{'pass' if passed else 'FAIL'}  {time.monotonic() - began:5.1f} s  {case.name}: {note}", flush=True)
    return passed


def _run_all(cases, arguments, work):
    from cases.basic import Context
    from cases.examples import python_package
    from compare.health import CheckedTool
    from runs import live
    from runs.sources import Sources
    samples = Path(__file__).resolve().parents[1] / "data" / "samples"
    tool = CheckedTool(arguments.shardscope.resolve())
    context = Context(tool, Sources(work), work, samples)
    if arguments.live:
        tool.live = True
        live.prepare(python_package(context), tool.program)
    results = [(case.name, _run_case(case, context)) for case in cases]
    alarms = [f"{case}: {folder.name}: {', '.join(codes)}" for case, folder, codes in tool.alarms]
    if tool.checked:
        results.append(("the doctor on every checkpoint", not alarms))
        print(f"{'FAIL' if alarms else 'pass'}  the doctor on every checkpoint: {tool.checked} looked at, in {len(alarms)} of"
              " them more than info" + "".join(f"\n  {alarm}" for alarm in alarms), flush=True)
    else:
        print("skip  the doctor on every checkpoint: these cases check none", flush=True)
    failed = [name for name, passed in results if not passed]
    if failed:
        print("\nFailed:\n  " + "\n  ".join(failed))
        if arguments.keep:
            print(f"Output of the ranks: {work / 'ranks.log'}")
    print(f"\n{len(results) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


def main():
    arguments = _arguments()
    environment.enter()
    cases = _selected(arguments)
    picture = arguments.curves or arguments.only_curves
    if picture:
        from cases.curves import LongRun
        cases = [*(cases if arguments.curves else []), LongRun(picture.resolve())]
    if arguments.live:
        cases = [case for case in cases if getattr(case, "loads_source", True)]
    if arguments.list:
        print("\n".join(case.name for case in cases))
        return 0
    if not cases:
        sys.exit("no case matches")
    if not arguments.shardscope or not arguments.shardscope.is_file():
        sys.exit("--shardscope must name the built program")
    if arguments.deepspeed:
        environment.use_deepspeed(arguments.deepspeed)
    if any(getattr(case, "frameworks", False) for case in cases):
        environment.use_frameworks()
    ops = {op for part, op in (("cpuadam", "CPUAdamBuilder"), ("fusedadam", "FusedAdamBuilder"))
           if any(part in case.name for case in cases)}
    if any(case.name.startswith("nvme") for case in cases):
        ops.add("AsyncIOBuilder")  # takes minutes, once
    environment.import_judges(sorted(ops))
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
        return _run_all(cases, arguments, arguments.keep.resolve())
    work = Path(tempfile.mkdtemp(prefix="shardscope-interop-"))
    try:
        return _run_all(cases, arguments, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
