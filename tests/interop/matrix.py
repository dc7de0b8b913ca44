# SPDX-License-Identifier: Apache-2.0
"""Which cases exist, and which of them the short run takes."""

import itertools

import matrix_stages
from cases import Folder, Judge, Reshard, RoundTrip, Sample
from golden import SAMPLES
from setups import Setup

MOVES = [(4, 2), (2, 4), (3, 5), (5, 3), (1, 3), (4, 1)]

# Sub-groups: several per param group, whole groups, and one per parameter and more.
SETUPS = [
    Setup(1, "bf16"),
    Setup(1, "fp16"),
    Setup(1, "fp32"),
    Setup(2, "bf16", shape=(("empty_parameter", True),)),
    Setup(2, "fp16"),
    Setup(2, "fp32"),
    Setup(3, "bf16", sub_group_size=200),
    Setup(3, "fp16"),
    Setup(3, "fp32", sub_group_size=1000),
    Setup(1, "bf16", bf16_optimizer=True),
]

OTHER_OPTIMIZERS = [
    Setup(1, "bf16", "sgd"),
    Setup(2, "fp32", "lion"),
    Setup(1, "fp32", "adagrad", groups=1),
    Setup(3, "bf16", "sgd", sub_group_size=300),
    Setup(3, "fp32", "lion"),
    Setup(2, "bf16", offload=True),
    Setup(3, "bf16", offload=True, sub_group_size=500),
    Setup(2, "bf16", "cpuadam", offload=True),
]


def _demonstrations(setup):
    """The three tests of the public DSUC demonstration of universal checkpoints, for native checkpoints."""
    return [
        Reshard(setup, 4, 4, label="demonstration: same size,", exact_losses=True),
        Reshard(setup, 2, 2, accumulation=2, label="demonstration: accumulation,"),
        Reshard(setup, 4, 2, accumulation=2, label="demonstration: half the ranks,"),
    ]


def _sub_group_change(size):
    old, new = Setup(3, "bf16", sub_group_size=200), Setup(3, "bf16", sub_group_size=size)
    return Reshard(old, 4, 2, resume_setup=new, options=("--sub-group-size", size),
                   label=f"reshard to sub-groups of {size},")


def _samples(world):
    return [Sample(name, setup, world) for version in SAMPLES.values() for name, (_, setup, _) in version.items()]


def short_run():
    """About eleven minutes on two cores: every stage and precision, each move at least once."""
    cases = []
    for index, setup in enumerate(SETUPS):
        before, after = MOVES[index % len(MOVES)]
        cases.append(Reshard(setup, before, after))
    cases += [
        Reshard(SETUPS[0], 5, 3),
        Reshard(SETUPS[6], 3, 5),
        Reshard(OTHER_OPTIMIZERS[0], 4, 2),
        Reshard(OTHER_OPTIMIZERS[1], 4, 2),
        *_demonstrations(SETUPS[3])[:1],
        *_demonstrations(SETUPS[6])[1:],
        RoundTrip(SETUPS[0], 4, 3),
        RoundTrip(SETUPS[6], 4, 3),
        RoundTrip(SETUPS[9], 4, 7),
        Folder(SETUPS[3], 4, 2),
        Folder(SETUPS[6], 4, 2),
        Judge(SETUPS[0], 4, 2),
        *[case for case in _samples(3) if case.sample in ("ds0144-zero2-w2", "ds0144-zero3-w3")],
        *matrix_stages.short_run(),
    ]
    return cases


def full_run():
    cases = [Reshard(setup, before, after) for setup, (before, after) in itertools.product(SETUPS, MOVES)]
    cases += [Reshard(setup, before, after) for setup in OTHER_OPTIMIZERS for before, after in [(4, 2), (3, 5)]]
    cases += [case for setup in (SETUPS[0], SETUPS[3], SETUPS[5], SETUPS[6], SETUPS[8], SETUPS[9])
              for case in _demonstrations(setup)]
    cases += [_sub_group_change(90), _sub_group_change(100000)]
    cases += [RoundTrip(setup, before, between) for setup in SETUPS for before, between in [(4, 3), (2, 64)]]
    cases += [Folder(setup, 4, 2) for setup in SETUPS]
    cases += _samples(1) + _samples(4)
    cases += [Judge(setup, 4, 2) for setup in (SETUPS[0], SETUPS[3], SETUPS[6], SETUPS[9])]
    return cases + matrix_stages.full_run()


RUNS = {"ci": short_run, "full": full_run}
