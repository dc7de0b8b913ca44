# SPDX-License-Identifier: Apache-2.0
"""`stats --health` on runs of stock DeepSpeed: no alarm where nothing is wrong, the layer, tag and rank where a fault is
planted, and every figure as numpy computes it from the files."""

import math
import re
import shutil
from dataclasses import dataclass
from functools import partial

from compare import checks, health_values
from compare.tool import Tool
from runs import health_runs, health_training, ranks
from runs.parallel_setups import ParallelSetup

# Sums in double; the order of elements differs.
TOLERANCE = 1e-9
SAMPLE_TOLERANCE = 0.2
NUMBERS = ("read", "rms", "l2", "zeros", "nan", "inf", "min", "max")


def health(context, folder, *options, checked=True):
    """`checked`: the doctor looks at the folder, too."""
    call = context.tool.call if checked else partial(Tool.call, context.tool)
    return call("stats", folder, "--health", "--history", *options)


def spelled(alarm):
    rank = alarm["rank"]["dp"] if alarm["rank"] else None
    return f"{alarm['code']} at {alarm['tag']}, layer {alarm['layer']}, rank {rank}: {alarm['text']}"


def names(alarm, fault):
    """It says what is wrong where."""
    return (alarm["tag"] == fault["tag"] and fault["layer"] in (None, alarm["layer"])
            and (fault["rank"] is None or (alarm["rank"] is not None and alarm["rank"]["dp"] == fault["rank"])))


def misleads(alarm, fault, tags):
    """It names something that is right. The tag after a fault in files differs from it, too; a run that trained on from a
    fault is not judged after it."""
    place, at = tags.index(fault["tag"]), tags.index(alarm["tag"])
    is_local = fault["layer"] is not None or fault["rank"] is not None
    if at < place or (is_local and at > place + 1):
        return True
    if fault["layer"] is not None:
        return alarm["layer"] != fault["layer"]
    return fault["rank"] is not None and (alarm["rank"] is None or alarm["rank"]["dp"] != fault["rank"])


def judge(answer, noted):
    """What is wrong with an answer, as sentences."""
    if not noted["faults"]:
        return [f"a sound run has an alarm: {spelled(alarm)}" for alarm in answer["alarms"]]
    wrong, tags = [], [f"global_step{step}" for step in noted["run"]["tags"]]
    for fault in noted["faults"]:
        if not any(names(alarm, fault) for alarm in answer["alarms"]):
            wrong.append(f"no alarm names {fault}; there are {[spelled(alarm) for alarm in answer['alarms']]}")
        wrong += [f"an alarm names what is right: {spelled(alarm)}" for alarm in answer["alarms"]
                  if misleads(alarm, fault, tags)]
    return wrong


def _equal(ours, theirs):
    if ours is None or theirs is None:
        return ours is theirs
    return ours == theirs or math.isclose(ours, theirs, rel_tol=TOLERANCE, abs_tol=1e-300)


def _row_differences(where, row, expected):
    states = {state["state"]: state for state in row["states"]}
    if row["missing"]:
        yield f"{where}: {row['missing']} elements are missing"
    if row["elements"] != expected["elements"] or row["step"] != expected["step"]:
        yield (f"{where}: {row['elements']} elements at step {row['step']}, where the files have {expected['elements']} at "
               f"{expected['step']}")
    for state, figures in expected["states"].items():
        if state not in states:
            yield f"{where}: no {state}, but {sorted(states)}"
            continue
        for number in NUMBERS:
            if not _equal(states[state][number], figures[number]):
                yield f"{where}: {number} of {state} is {states[state][number]!r}, numpy's {figures[number]!r}"
    ours, theirs = row["update"], expected["update"]
    if (ours is None) != (theirs is None):
        yield f"{where}: update is {ours} ({row['why']}), numpy's {theirs}"
    elif ours is not None:
        for number in ("rms", "ratio"):
            if not _equal(ours[number], theirs[number]):
                yield f"{where}: {number} of the update is {ours[number]!r}, numpy's {theirs[number]!r}"
    elif not row["why"]:
        yield f"{where}: there is no update, and no reason"


def value_differences(answer, tags, rule):
    """`tags`: name -> health_values.Tag of each that is compared. Returns sentences and the number of compared rows."""
    wrong, compared = [], 0
    entries = {entry["tag"]: entry["layers"] for entry in answer["history"]} | {answer["tag"]: answer["layers"]}
    for name, tag in tags.items():
        expected, ours = health_values.rows(tag, rule), {row["layer"]: row for row in entries[name]}
        wrong += [f"{name}: the layer {layer} is missing" for layer in expected.keys() - ours.keys()]
        wrong += [f"{name}: the layer {layer} is not in the files" for layer in ours.keys() - expected.keys()]
        for layer in expected.keys() & ours.keys():
            wrong += _row_differences(f"{name} {layer}", ours[layer], expected[layer])
            compared += 1
    return wrong, compared


def parameter_differences(answer, tag, rule):
    """The rows of --params are those of single parameters."""
    expected = health_values.rows(tag, rule, key=lambda name: name)
    ours = {row["name"]: row for row in answer["parameters"]}
    wrong = [f"the parameter {name} is missing" for name in expected.keys() - ours.keys()]
    for name in expected.keys() & ours.keys():
        wrong += _row_differences(name, ours[name], expected[name])
    return wrong


def sample_differences(sampled, exact):
    """Figures of a sample are near those of all elements."""
    rows = {row["layer"]: row for row in exact["layers"]}
    for row in sampled["layers"]:
        for state, all_of_it in zip(row["states"], rows[row["layer"]]["states"]):
            if not math.isclose(state["rms"] or 0, all_of_it["rms"] or 0, rel_tol=SAMPLE_TOLERANCE):
                yield f"{row['layer']}: rms of {state['state']} is {state['rms']} by a sample, {all_of_it['rms']} in all"


def _refuse(wrong):
    if wrong:
        more = f"\n  and {len(wrong) - 8} more" if len(wrong) > 8 else ""
        raise checks.Failure("\n  ".join(wrong[:8]) + more)


def stock_agrees(folder, tag):
    """Our reading gives the masters that DeepSpeed's own merge gives."""
    from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint
    merged = get_fp32_state_dict_from_zero_checkpoint(str(folder), tag=tag.folder.name)
    for name in tag.spans:
        if not merged[name].double().view(-1).equal(tag.value(name, "fp32")):
            raise checks.Failure(f"zero_to_fp32 has other masters of {name} than our own reading")


def _made(context):
    return health_runs.Made(context.work / "health", context.sources.log)


@dataclass(frozen=True)
class Health:
    """Sampled and exact, on one run."""
    run_of: object  # Run, Trained or Planted of runs/health_runs.py
    frameworks = True

    @property
    def name(self):
        kind = "sound" if isinstance(self.run_of, health_runs.Run) else "planted"
        return f"health {kind} {self.run_of.name}"

    def run(self, context):
        folder, noted = _made(context).get(self.run_of)
        run, last = noted["run"], noted["run"]["tags"][-1]
        exact = health(context, folder, "--exact", "--params", checked=not noted["faults"])
        wrong = judge(exact, noted)
        sampled = health(context, folder, checked=not noted["faults"])
        wrong += [f"sampled: {sentence}" for sentence in judge(sampled, noted)]
        wrong += sample_differences(sampled, exact)
        if not exact["exact"]:
            wrong.append("--exact is not exact")
        rule = health_values.rule_of(run["optimizer"])
        tags = {f"global_step{step}": health_values.Tag(folder / f"global_step{step}", noted["groups"])
                for step in run["tags"]}
        newest = tags[f"global_step{last}"]
        differences, compared = [], 0
        if not any(fault["kind"] == "stale-rank" for fault in noted["faults"]):  # its updates are of other steps and rates
            differences, compared = value_differences(exact, tags, rule)
            differences += parameter_differences(exact, newest, rule)
        if "zero_stage" in (newest.optims or [{}])[0] and not noted["faults"]:  # zero_to_fp32 refuses BF16_Optimizer
            stock_agrees(folder, newest)
        _refuse(wrong + differences)
        return f"{len(exact['alarms'])} alarms, {compared} rows equal numpy's"


@dataclass(frozen=True)
class HealthOfParts:
    """Ranks that hold different parameters: no alarm, and an optimizer file of an earlier tag is found."""
    setup: ParallelSetup
    world: int
    tags = (6, 12, 20, 30, 45)

    @property
    def name(self):
        return f"health of parts {self.setup.name} {self.world}"

    def run(self, context):
        folder = context.target(self.name)
        ranks.run_ranks(self.world, health_training.train_parallel, self.setup, str(folder), self.tags,
                        log_path=context.sources.log)
        sound = {"faults": [], "run": {"tags": self.tags}}
        answers = [health(context, folder), health(context, folder, "--exact", "--params")]
        _refuse([sentence for answer in answers for sentence in judge(answer, sound)])
        for place in (2, -1):
            self._plant(context, folder, place)
        return f"{len(answers[0]['layers'])} layers, no alarm; two stale ranks found"

    def _plant(self, context, folder, place):
        """The last rank's file of the tag before."""
        damaged = context.target(f"{self.name} stale {place}")
        shutil.copytree(folder, damaged)
        tag, before = (damaged / f"global_step{step}" for step in (self.tags[place], self.tags[place - 1]))
        path = sorted(path for path in tag.glob("*optim_states.pt"))[-1]
        shutil.copyfile(before / path.name, path)
        data, part = (int(number) for number in re.search(r"pp_rank_(\d+)_mp_rank_(\d+)", path.name).groups())
        fault = {"kind": "stale-rank", "tag": tag.name, "layer": None, "rank": data}
        answer = health(context, damaged, checked=False)
        wrong = judge(answer, {"faults": [fault], "run": {"tags": self.tags}})
        found = [alarm["rank"] for alarm in answer["alarms"] if alarm["rank"]]
        if not wrong and any(part not in (rank["tp"], rank["pp"]) for rank in found):
            wrong.append(f"{path.name} is stale, but {found} are named")
        _refuse(wrong)


PARTS = [(ParallelSetup("pipeline", 1, "bf16"), 4), (ParallelSetup("experts", 2, "bf16"), 4),
         (ParallelSetup("slices", 2, "bf16"), 4), (ParallelSetup("megatron", 1, "bf16"), 4),
         (ParallelSetup("autoep", 2, "bf16"), 4), (ParallelSetup("pipeline", 1, "fp32"), 2)]


def short_run():
    return [case for case in full_run() if isinstance(case, Health) and case.run_of.name in health_runs.SHORT]


def full_run():
    return [*(Health(run) for run in (*health_runs.SOUND, *health_runs.TRAINED, *health_runs.PLANTED)),
            *(HealthOfParts(setup, world) for setup, world in PARTS)]
