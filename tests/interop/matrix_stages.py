# SPDX-License-Identifier: Apache-2.0
"""The cases about ZeRO stages and universal folders."""

import itertools
from dataclasses import replace

from cases.stage import LikeStock, StageChange, StageRoundTrip
from cases.stock import ComparedWithStock, StockCannotLoad, known_changes, lost_names, scrambled
from cases.universal import LikeConverter, UniversalToEngine, UniversalToNative
from runs.setups import Setup
from runs.universal import PLAIN_NAMES

# Each pair moves other numbers of ranks, so that every stage is cut for 2 and for 3.
PAIRS = {(1, 2): (2, 3), (1, 3): (3, 2), (2, 1): (3, 2), (2, 3): (2, 3), (3, 1): (2, 3), (3, 2): (3, 2)}


def _setup(stage, precision, optimizer="adamw", **more):
    if stage == 3:
        more.setdefault("sub_group_size", 200)
    return Setup(stage, precision, optimizer, **more)


def _plain(stage, precision="bf16", optimizer="adamw", **more):
    return Setup(stage, precision, optimizer, shape=(PLAIN_NAMES,), **more)


def _changes(pairs, *rest, **more):
    for before, after in pairs:
        worlds = PAIRS[before, after]
        yield StageChange(_setup(before, *rest, **more), worlds[0], _setup(after, *rest, **more), worlds[1])


BF16_OPTIMIZER = Setup(1, "bf16", bf16_optimizer=True)
# DeepSpeed cannot load its own ZeRO-3 checkpoints of torch's Adagrad.
ADAGRAD_PAIRS = [pair for pair in PAIRS if pair[1] != 3]


# One module object under two names, which only `--tie` says, and tensors without elements.
NAMED_TIES = ("--tie", "mixer_again.weight=mixer.weight", "--tie", "mixer_again.bias=mixer.bias")
TWICE_AND_SPARE = (("mixer_twice", True), ("spare", True))


def _unrecorded_tie(stage, after, sub_group_size=0):
    setup = Setup(3, "bf16", shape=TWICE_AND_SPARE, sub_group_size=sub_group_size)
    engine = replace(setup, stage=stage, sub_group_size=sub_group_size if stage == 3 else 0)
    return StageChange(setup, 2, engine, after, NAMED_TIES)


def _asked_kinds():
    """Files of one form, opened as another kind."""
    yield StageChange(BF16_OPTIMIZER, 2, _setup(2, "bf16"), 3, ("--kind", "zero2"))
    yield StageChange(_setup(2, "bf16"), 3, BF16_OPTIMIZER, 2, ("--kind", "bf16"))


def _stage_changes():
    yield from _asked_kinds()
    yield from _changes(PAIRS, "bf16")
    yield from _changes(PAIRS, "fp32")
    yield from _changes(PAIRS, "fp16")
    yield from _changes(PAIRS, "fp32", "sgd")
    yield from _changes(PAIRS, "fp32", "lion")
    yield from _changes(PAIRS, "bf16", "cpuadam", offload=True)
    yield from _changes(ADAGRAD_PAIRS, "fp32", "adagrad", groups=1)
    yield from _changes([(1, 3), (3, 2), (2, 1)], "bf16", "muon")
    yield from _changes(PAIRS, "fp32", "rmsprop")
    yield from _changes(PAIRS, "fp32", "amsgrad")
    for after in (2, 3):
        yield StageChange(BF16_OPTIMIZER, 3, _setup(after, "bf16"), 2)
    yield StageChange(_setup(2, "bf16"), 2, Setup(3, "bf16"), 3)  # whole groups instead of many sub-groups
    yield StageChange(_setup(2, "fp32"), 3, _setup(2, "fp32"), 2)  # the stage that it has
    yield StageChange(_setup(3, "bf16"), 2, _setup(1, "bf16"), 1)
    yield StageChange(_setup(1, "bf16"), 1, _setup(3, "bf16"), 5)
    # Orders and paddings that only stages 1 and 2 know. From ZeRO-3 the way leads to DeepSpeed's defaults.
    for more in ({"round_robin": True}, {"aligned": True}, {"round_robin": True, "aligned": True}):
        yield StageChange(_setup(2, "bf16", **more), 3, _setup(3, "bf16"), 2)
        yield StageChange(_setup(2, "bf16", **more), 2, _setup(1, "bf16", **more), 3)
    yield StageChange(_setup(2, "bf16", shape=(("empty_parameter", True),)), 2,
                      _setup(1, "bf16", shape=(("empty_parameter", True),)), 3)


def _unrecorded_ties():
    for stage in (1, 2, 3):
        yield _unrecorded_tie(stage, 3)
    yield _unrecorded_tie(3, 4)
    yield _unrecorded_tie(2, 3, 200)
    yield _unrecorded_tie(3, 3, 200)


def _engines(precision, optimizer="adamw", stages=(1, 2, 3), **more):
    return tuple(_plain(stage, precision, optimizer, **more) for stage in stages)


def _to_engines():
    # One group and one sub-group: what DeepSpeed's ZeRO-3 loader restores in full.
    for stage, precision in itertools.product((1, 2, 3), ("bf16", "fp32", "fp16")):
        setup = replace(_plain(stage, precision, groups=1), sub_group_size=200 if stage == 3 else 0)
        yield UniversalToEngine(setup, 2, _engines(precision, groups=1), 3)
    for stage in (2, 3):
        setup = replace(_plain(stage), sub_group_size=200 if stage == 3 else 0)
        engines = (*_engines("bf16"), _plain(3, sub_group_size=200), replace(_plain(1), bf16_optimizer=True))
        yield UniversalToEngine(setup, 3, engines, 2)
        yield UniversalToEngine(setup, 3, engines, 2, "upgraded")
    yield UniversalToEngine(replace(_plain(1), bf16_optimizer=True), 2, _engines("bf16"), 3)
    yield UniversalToEngine(Setup(2, "bf16"), 2, (Setup(1, "bf16"), Setup(2, "bf16"), Setup(3, "bf16")), 3)
    yield UniversalToEngine(_plain(2, "bf16", "cpuadam", offload=True), 2,
                            _engines("bf16", "cpuadam", offload=True), 3)
    yield UniversalToEngine(_plain(3, "bf16", "cpuadam", offload=True, sub_group_size=200), 2,
                            _engines("bf16", "cpuadam", offload=True), 3)
    # What DeepSpeed's loader for stages 1 and 2 takes, and its converter does not write.
    for optimizer in ("sgd", "lion", "adagrad"):
        groups = 1 if optimizer == "adagrad" else 3
        for stage in (1, 3):
            yield UniversalToEngine(_plain(stage, "fp32", optimizer, groups=groups), 2,
                                    _engines("fp32", optimizer, (1, 2), groups=groups), 3)
    # The comparison itself, without shardscope.
    yield UniversalToEngine(_plain(2), 3, (_plain(1), _plain(2)), 2, "stock")
    yield UniversalToEngine(_plain(3, sub_group_size=200), 3, (_plain(3),), 2, "stock")


def _slashed(stage, **more):
    """Parameters whose folders are nested, one within another one's."""
    names = ("gain/of all", "gain/of all/größe", "gain/a#b")
    return Setup(stage, "bf16", shape=(("odd_names", names),), **more)


def _with_slashes():
    engines = tuple(_slashed(stage) for stage in (1, 2, 3))
    for stage in (2, 3):
        setup = _slashed(stage, sub_group_size=200 if stage == 3 else 0)
        yield UniversalToEngine(setup, 2, engines, 3)
        yield UniversalToEngine(setup, 3, engines, 2, "upgraded")
        yield UniversalToNative(setup, 2, _slashed(5 - stage), 3, "stock")
        yield LikeConverter(setup, 3)


def _to_native():
    for stage, native, route in itertools.product((2, 3), (1, 2, 3), ("stock", "upgraded", "ours")):
        yield UniversalToNative(replace(_plain(stage), sub_group_size=200 if stage == 3 else 0), 3,
                                replace(_plain(native), sub_group_size=200 if native == 3 else 0), 2, route)
    for stage, native in PAIRS:
        yield UniversalToNative(_plain(stage, "fp16"), 2, _plain(native, "fp16"), 3, "stock")
    yield UniversalToNative(_plain(2), 3, _plain(3), 2, "stock", next_to_native=True)
    yield UniversalToNative(_plain(3), 3, _plain(2), 2, "stock", next_to_native=True)
    for optimizer, precision in (("adamw", "fp32"), ("sgd", "fp32"), ("lion", "fp32"), ("adagrad", "fp32"),
                                 ("cpuadam", "bf16")):
        more = {"groups": 1 if optimizer == "adagrad" else 3, "offload": optimizer == "cpuadam"}
        for stage, native in ((1, 1), (2, 2), (3, 3), (1, 3), (2, 1), (3, 2)):
            if optimizer != "adagrad" or native != 3:
                yield UniversalToNative(_setup(stage, precision, optimizer, **more), 2,
                                        _setup(native, precision, optimizer, **more), 3)
    yield UniversalToNative(_setup(2, "bf16", "muon"), 2, _setup(1, "bf16", "muon"), 3)
    yield UniversalToNative(BF16_OPTIMIZER, 2, _setup(3, "bf16"), 3)
    yield UniversalToNative(BF16_OPTIMIZER, 2, _setup(2, "bf16"), 3)


def _with_stock():
    yield ComparedWithStock(Setup(2, "bf16"), 2, Setup(2, "bf16"), 3, "names", folder_fault=lost_names,
                      load_error="are not equal", universal=True)
    yield ComparedWithStock(Setup(3, "bf16", groups=1), 2, Setup(3, "bf16", groups=1), 3, "names",
                      convert_error="IndexError: list index out of range", universal=True)
    for stage, optimizer, error in ((2, "sgd", "exp_avg"), (2, "lion", "exp_avg_sq"), (1, "adagrad", "exp_avg"),
                                    (3, "lion", "exp_avg_sq"), (3, "sgd", "exp_avg")):
        more = {"groups": 1} if optimizer == "adagrad" else {}
        setup = _plain(stage, "fp32", optimizer, **more)
        yield ComparedWithStock(setup, 2, setup, 3, "optimizers", convert_error=f"KeyError: '{error}'",
                                universal=stage < 3)
    for stage, other in ((2, 3), (3, 2), (3, 1)):
        yield ComparedWithStock(_plain(stage), 2, _plain(other), 2, "stages", load_error="AssertionError")
    yield ComparedWithStock(_plain(3), 3, _plain(3), 2, "groups", load_fault=known_changes)
    yield ComparedWithStock(_plain(2), 3, _plain(2), 2, "frozen and buffers", load_fault=known_changes)
    for optimizer, error in (("sgd", "KeyError: 'step'"), ("lion", "KeyError: 'step'")):
        yield StockCannotLoad(_plain(2, "fp32", optimizer), 2, _plain(3, "fp32", optimizer), 2, error)


def round_robin():
    setup = _plain(2, round_robin=True)
    return [ComparedWithStock(setup, 4, setup, 2, "round robin", load_fault=scrambled),
            ComparedWithStock(setup, 4, _plain(3), 2, "round robin", load_error="AssertionError")]


def short_run():
    return [
        StageChange(_setup(1, "bf16"), 2, _setup(3, "bf16"), 3),
        StageChange(_setup(3, "fp16"), 2, _setup(2, "fp16"), 3),
        StageChange(BF16_OPTIMIZER, 3, _setup(2, "bf16"), 2),
        _unrecorded_tie(2, 3),
        StageRoundTrip(_setup(1, "bf16"), 2, _setup(3, "bf16"), 3),
        UniversalToEngine(_plain(3, groups=1, sub_group_size=200), 2, _engines("bf16", groups=1), 3),
        UniversalToEngine(_plain(2), 2, (_plain(3, sub_group_size=200),), 3, "upgraded"),
        UniversalToNative(_plain(2), 2, _plain(3), 3, "stock"),
        UniversalToNative(_plain(3, groups=1, sub_group_size=200), 2, _plain(1, groups=1), 3, "stock"),
        ComparedWithStock(_plain(2, "fp32", "lion"), 2, _plain(2, "fp32", "lion"), 3, "optimizers",
                    convert_error="KeyError: 'exp_avg_sq'", universal=True),
    ]


def full_run():
    cases = [*_stage_changes(), *_unrecorded_ties(), *_to_engines(), *_to_native(), *_with_slashes(), *_with_stock(),
             *round_robin()]
    for stage, precision in itertools.product((1, 2, 3), ("bf16", "fp16")):
        cases.append(LikeConverter(replace(_plain(stage, precision), sub_group_size=200 if stage == 3 else 0), 3))
    for (before, after), (old, new) in PAIRS.items():
        for precision in ("bf16", "fp16"):
            cases.append(LikeStock(_setup(before, precision), old, _setup(after, precision), new))
        cases.append(StageRoundTrip(_setup(before, "bf16"), old, _setup(after, "bf16"), new))
    return cases


def older_run():
    return [*_changes(PAIRS, "bf16"),
            StageChange(BF16_OPTIMIZER, 3, _setup(2, "bf16"), 2),
            UniversalToNative(_plain(2), 2, _plain(3), 3, "stock"),
            UniversalToNative(_plain(2), 2, _plain(3), 3),
            # The converter of 0.16 fails on sub-groups that end inside of a parameter.
            UniversalToNative(_plain(3, groups=1, sub_group_size=200), 2, _plain(1, groups=1), 3)]
