# SPDX-License-Identifier: Apache-2.0
"""Universal folders: made by DeepSpeed's converter, by shardscope or by both, loaded in unmodified DeepSpeed; and what
DeepSpeed's loader leaves out even of a complete one."""

import contextlib
import io
from argparse import Namespace
from dataclasses import dataclass, replace
from pathlib import Path

from compare import checks, live_state
from runs import ranks, sources


def _convert(_rank, _world, folder, target, inject):
    from deepspeed.checkpoint import ds_to_universal
    with contextlib.redirect_stderr(io.StringIO()):  # progress bars
        ds_to_universal.main(Namespace(input_folder=folder, output_folder=target, inject_missing_state=inject,
                                       strict=True, keep_temp_folder=False, num_extract_workers=1,
                                       num_merge_workers=1))


# DeepSpeed's converter loses or refuses other ones.
PLAIN_NAMES = ("odd_names", ("gain 0", "größe µ", "a#b!c@d%e"))


def stock_convert(context, folder, target, inject=True):
    """DeepSpeed's converter on the tag that `latest` names: TARGET/TAG_universal and TARGET/latest_universal. `inject`:
    it is run with its option to work without the key that it requires."""
    tag = (Path(folder) / "latest").read_text()
    target.mkdir(parents=True, exist_ok=True)
    ranks.run_ranks(1, _convert, str(folder / tag), str(target / f"{tag}_universal"), inject,
                    log_path=context.sources.log)
    return target


def tool_convert(context, folder, target):
    tag = (folder / "latest_universal" if (folder / "latest_universal").is_file() else folder / "latest").read_text()
    context.tool.convert(folder, target)
    name = (target / "latest_universal").read_text()
    if name != f"{tag.removesuffix('_universal')}_universal" or not (target / name).is_dir():
        raise checks.Failure(f"latest_universal says {name!r}; the source's tag is {tag!r}")
    return target


ROUTES = ("ours", "stock", "upgraded")


def make_universal(context, route, folder, label):
    """ours: converted by shardscope; stock: by DeepSpeed; upgraded: by DeepSpeed, then by shardscope."""
    if route not in ROUTES:
        raise ValueError(f"no route {route}")
    # DeepSpeed's converter uses its own paths as regular expressions, so they must not contain +, ( or [.
    made = context.target(f"{label} {route}".replace("+", " "))
    if route == "ours":
        return tool_convert(context, folder, made)
    stock_convert(context, folder, made)
    return made if route == "stock" else tool_convert(context, made, context.target(f"{label} {route} again"))


@dataclass
class Resumed:
    state: dict
    losses: list
    client: dict
    end: dict  # the state after the further steps
    sub_groups: int  # of ZeRO-3, else 0


def _load_and_train(rank, world, setup, folder, frozen_seed, before, after):
    from runs.training import build_engine, train
    engine = build_engine(setup, world, seed=99, frozen_seed=frozen_seed)
    path, client = engine.load_checkpoint(folder)
    if path is None:
        raise RuntimeError(f"DeepSpeed found no checkpoint in {folder}")
    state = live_state.local_state(engine, rank)
    losses = train(engine, rank, world, before, after, shape=setup.shape)
    sub_groups = len(engine.optimizer.fp16_groups) if setup.stage == 3 else 0
    return (state, losses, {key: client.get(key) for key in sources.CLIENT_STATE},
            live_state.local_state(engine, rank), sub_groups)


def resume(context, setup, world, folder, frozen_seed=17):
    """Loads a universal folder. DeepSpeed leaves frozen parameters as the model was built, so they are built as the
    source's were; with frozen_seed None they are not."""
    parts = ranks.run_ranks(world, _load_and_train, replace(setup, universal=True), str(folder), frozen_seed,
                            sources.STEPS_BEFORE, sources.STEPS_AFTER, log_path=context.sources.log)
    states, losses, clients, ends, sub_groups = zip(*parts)
    return Resumed(live_state.merge(states), sources.mean_losses(losses), clients[0], live_state.merge(ends),
                   sub_groups[0])


# A new engine's counter of batches, which is a buffer.
UNSEEN = ("torch.int64", (), bytes(8))


def scaler_changes(before, after, state=None):
    """BF16_Optimizer has no loss scaler, the other optimizers always have one, in bf16 a constant 1. `state`: of the saved
    run. Up to 0.16 BF16_Optimizer does not say whether a step overflowed."""
    if before.bf16_optimizer == after.bf16_optimizer:
        return {}
    scaler = {"cur_scale": 1.0, "dynamic": False}
    unsaid = before.bf16_optimizer and state is not None and state["scalar overflow"] == live_state.plain(None)
    return {
        **({"scalar overflow": live_state.plain(False)} if unsaid else {}),
        "scalar loss_scaler": None if after.bf16_optimizer else ("LossScaler", live_state.plain(scaler)),
        "scalar dynamic_loss_scale": live_state.plain(None if after.bf16_optimizer else False),
    }


def group_labels(state):
    """(label, its label in the first group) of every option of the other groups that is not the first group's."""
    for label, value in state.items():
        kind, _, rest = label.partition(" group ")
        index, _, option = rest.partition(" ")
        if kind == "scalar" and index.isdigit() and index != "0" and state.get(f"scalar group 0 {option}") != value:
            yield label, f"scalar group 0 {option}"


def stock_changes(state, before, after, frozen=True):
    """What unmodified DeepSpeed loads from a universal folder that holds everything: labels and their values. If
    DeepSpeed fixes a fault, the case fails here with its name."""
    changes = {"weight batches_seen": UNSEEN, **scaler_changes(before, after)}
    if not frozen:
        changes["weight positions.weight"] = checks.ANY
    if after.stage == 3:
        changes.update((label, state[first]) for label, first in group_labels(state))
    return changes


def steps_after(state, steps):
    """Every parameter's step, this many steps on, as live_state labels."""
    labels = {}
    for label, value in state.items():
        if label.startswith("scalar ") and label.endswith(" step") and not label.startswith("scalar group "):
            labels[label] = _advanced(value, steps)
    return labels


def _advanced(value, steps):
    import torch
    if value[0] == "tensor":
        step = torch.frombuffer(bytearray(value[3]), dtype=getattr(torch, value[1].removeprefix("torch.")))
        return live_state.plain((step + steps).reshape(value[2]))
    return live_state.plain(int(value[1]) + steps)
