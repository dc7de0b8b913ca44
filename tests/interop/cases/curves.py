# SPDX-License-Identifier: Apache-2.0
"""The long run: train, save in the middle, reshard, resume, and draw both losses into one picture."""

from dataclasses import dataclass
from pathlib import Path

from compare import checks
from runs import ranks, sources
from runs.setups import Setup

# The first loss after the load comes from the loaded state alone; it must meet the tolerance of the short runs.
HALF, WHOLE = 100, 200
CONTROL_PARTS = 3
RUNS = [(Setup(1, "bf16"), 4, 2), (Setup(3, "bf16", sub_group_size=200), 2, 4)]


def _train_through(rank, world, setup, folder):
    from runs.training import build_engine, train
    engine = build_engine(setup, world)
    first = train(engine, rank, world, 0, HALF, shape=setup.shape)
    engine.save_checkpoint(folder)
    return first + train(engine, rank, world, HALF, WHOLE - HALF, shape=setup.shape)


def _train_on(rank, world, setup, folder, accumulation=1):
    from runs.training import build_engine, train
    engine = build_engine(setup, world, accumulation, seed=99)
    engine.load_checkpoint(folder)
    return train(engine, rank, world, HALF, WHOLE - HALF, accumulation, shape=setup.shape)


def _farthest(expected, actual):
    return max(abs(a - e) / e for e, a in zip(expected, actual))


@dataclass(frozen=True)
class LongRun:
    picture: Path

    name = f"long run of {WHOLE} steps, resharded at {HALF}"

    def run(self, context):
        panels, notes = [], []
        for setup, before, after in RUNS:
            folder, target = context.target(f"long {setup.name}"), context.target(f"long {setup.name} resharded")
            whole = sources.mean_losses(ranks.run_ranks(before, _train_through, setup, str(folder),
                                                        log_path=context.sources.log, limit_seconds=600))
            context.tool.reshard(folder, target, after)
            resumed = sources.mean_losses(ranks.run_ranks(after, _train_on, setup, str(target),
                                                          log_path=context.sources.log, limit_seconds=600))
            # The effect of another order of sums over the same steps, with stock DeepSpeed only: the saved
            # checkpoint on the same number of ranks, with the same batches in three parts.
            control = sources.mean_losses(ranks.run_ranks(before, _train_on, setup, str(folder), CONTROL_PARTS,
                                                          log_path=context.sources.log, limit_seconds=600))
            bound = checks.TOLERANCE[setup.precision]
            near = checks.losses_track(whole[HALF:HALF + 1], resumed[:1], bound)
            far, usual = _farthest(whole[HALF:], resumed), _farthest(whole[HALF:], control)
            if far > 3 * max(usual, bound):
                raise checks.Failure(f"{setup.name}: deviation {far:.2e} within {WHOLE - HALF} steps, where another "
                                     f"order of sums alone makes {usual:.2e}")
            notes.append(f"{setup.name} {before}->{after}: {near:.1e} in the first step, {far:.1e} in {WHOLE - HALF} "
                         f"(stock alone, summing in another order: {usual:.1e})")
            panels.append((f"ZeRO-{setup.stage}, {before} → {after} ranks", whole, resumed))
        draw(panels, self.picture)
        return "; ".join(notes)


def draw(panels, picture):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(1, len(panels), figsize=(10, 3.6), sharey=True, layout="constrained")
    for axis, (title, whole, resumed) in zip(axes, panels):
        axis.plot(range(1, WHOLE + 1), whole, color="#9aa5b1", linewidth=4, label="never resharded")
        axis.plot(range(HALF + 1, WHOLE + 1), resumed, color="#c2410c", linewidth=1.4, label="resharded and resumed")
        axis.axvline(HALF, color="#6b7280", linewidth=0.8, linestyle=":")
        axis.set_title(title)
        axis.set_xlabel("optimizer step")
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(frameon=False)
    axes[0].set_ylabel("training loss")
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=120, metadata={"Software": None})
    pyplot.close(figure)
