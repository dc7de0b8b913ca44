# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of frameworks around DeepSpeed: their files next to the tag are copied, and they continue with them."""

from dataclasses import dataclass

from compare import checks
from runs import ranks, wrappers
from runs.wrappers import SAVED_AT, Wrapped

RANDOM_STATES = {"transformers": ("rng_state_{}.pth", "rng_state.pth"),
                 "accelerate": ("random_states_{}.pkl", "random_states_0.pkl")}


def _random_name(framework, rank, world):
    many, single = RANDOM_STATES[framework]
    return single if world == 1 else many.format(rank)


@dataclass(frozen=True)
class Resume:
    """Save under a framework at one world size, reshard, let the framework resume at another."""
    framework: str
    wrapped: Wrapped
    after: int
    stage: int = 0  # of the new run; 0: the same
    universal: bool = False  # through a universal folder
    frameworks = True  # needs requirements-wrappers.txt

    @property
    def name(self):
        stage = f" to zero{self.stage}" if self.stage else ""
        before = self.wrapped
        way = " through universal" if self.universal else ""
        return f"{self.framework} zero{before.stage}-{before.precision} {before.world}->{self.after}{stage}{way}"

    def run(self, context):
        wrappers.import_frameworks()
        folder, before = self._source(context)
        target = context.target(self.name)
        checkpoint = folder / f"checkpoint-{SAVED_AT}" if self.framework == "transformers" else folder
        plan = self._reshard(context, folder, target)
        self._check_files(checkpoint, target, plan)
        if not context.tool.call("verify", target, "--against", checkpoint)["ok"]:
            raise checks.Failure("verify does not accept what reshard wrote")
        engine = Wrapped(self.stage or self.wrapped.stage, self.wrapped.precision, self.after, self.universal)
        resumed = self._run(context, engine, context.target(f"{self.name} resumed"), str(target))
        tensors = checks.same_state(before.state, resumed.state)
        if resumed.facts != before.facts:
            raise checks.Failure(f"the framework's state became {resumed.facts}, was {before.facts}")
        self._check_random_states(before, resumed)
        deviation = checks.losses_track(before.losses, resumed.losses, checks.TOLERANCE[self.wrapped.precision])
        return f"{tensors} tensors bit-equal, loss deviation {deviation:.1e}"

    def _run(self, context, wrapped, folder, resume):
        function = wrappers.run_trainer if self.framework == "transformers" else wrappers.run_accelerate
        results = ranks.run_ranks(wrapped.world, function, wrapped, str(folder), resume, log_path=context.sources.log)
        return wrappers.gather(results)

    def _source(self, context):
        made = context.sources.__dict__.setdefault("wrapped", {})
        key = (self.framework, self.wrapped)
        if key not in made:
            folder = context.work / "sources" / f"{self.framework}-{len(made) + 1}"
            made[key] = (folder, self._run(context, self.wrapped, folder, None))
        return made[key]

    def _reshard(self, context, folder, target):
        """A Trainer's output folder has a newer checkpoint than the requested one."""
        options = ["--stage", self.stage] if self.stage else []
        options += ["--sub-group-size", wrappers.SUB_GROUP] if self.stage == 3 else []
        if self.framework == "transformers":
            inspected = context.tool.call("inspect", folder)
            if inspected["tag"] != f"global_step{wrappers.STEPS}" or f"checkpoint-{SAVED_AT}" not in inspected["tags"]:
                raise checks.Failure(f"the output folder is read as {inspected['tag']} of {inspected['tags']}")
            options += ["--tag", f"checkpoint-{SAVED_AT}"]
        if self.universal:
            return context.tool.convert(folder, target, *options)
        return context.tool.reshard(folder, target, self.after, *options)

    def _kept(self):
        return range(min(self.wrapped.world, self.after))

    def _check_files(self, checkpoint, target, plan):
        """Every plain file is there unchanged, random states of the processes that both runs have."""
        framework, old = self.framework, self.wrapped.world
        new = old if self.universal else self.after  # a universal folder has all of them
        random_states = {_random_name(framework, rank, old) for rank in range(old)}
        expected = {path.name: path for path in checkpoint.iterdir() if path.is_file()}
        expected = {name: path for name, path in expected.items() if name not in random_states}
        expected.update((_random_name(framework, rank, new), checkpoint / _random_name(framework, rank, old))
                        for rank in range(min(old, new)))
        if self.universal:
            expected = {name: path for name, path in expected.items() if not name.endswith(".py")}
            expected["latest_universal"] = target / "latest_universal"
            expected.pop("latest")
        found = {path.name for path in target.iterdir() if path.is_file()}
        if found != expected.keys():
            raise checks.Failure(f"files next to the tag differ: {sorted(found ^ expected.keys())}")
        wrong = [name for name, path in expected.items() if path.read_bytes() != (target / name).read_bytes()]
        if wrong:
            raise checks.Failure(f"these files changed on the way: {wrong}")
        missing = [entry["message"] for entry in plan["plan"]["warnings"]
                   if entry["code"] == "client-state-per-rank" and entry["severity"] == "warning"]
        if bool(missing) != (new > old):
            raise checks.Failure(f"the plan says of random states: {missing}")

    def _check_random_states(self, before, resumed):
        for rank in range(self.after):
            kept = rank in self._kept()
            if resumed.said[rank] is not None and bool(resumed.said[rank]) == kept:
                raise checks.Failure(f"process {rank} says of its random states: {resumed.said[rank]}")
            if kept and resumed.random[rank] != before.random[rank]:
                raise checks.Failure(f"process {rank} continues with other random states")


def short_run():
    return [Resume("transformers", Wrapped(2, "bf16", 2), 3)]


def full_run():
    trainer = [Resume("transformers", Wrapped(stage, "bf16", 2), after) for stage in (2, 3) for after in (1, 3)]
    trainer += [Resume("transformers", Wrapped(1, "fp32", 1), 2), Resume("transformers", Wrapped(2, "bf16", 2), 3, 3),
                Resume("transformers", Wrapped(2, "bf16", 2), 3, universal=True)]
    accelerate = [Resume("accelerate", Wrapped(2, "bf16", 2), 3), Resume("accelerate", Wrapped(3, "fp32", 3), 1)]
    return trainer + accelerate
