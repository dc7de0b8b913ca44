# SPDX-License-Identifier: Apache-2.0
"""The commands that outputs.py runs: every conversion of a checkpoint, and every answer about it."""

import json
import shutil
import subprocess

VERBS = ("inspect params layout files show stats diff check verify fingerprint repair reshard convert export skeleton "
         "plan run clean completion").split()

# name -> arguments after SRC and DST
RESHARDS = {f"reshard w{world}": ["-w", str(world)] for world in (1, 2, 3, 4, 6)}
RESHARDS |= {f"reshard stage{stage}": ["-w", "4", "--stage", str(stage)] for stage in (0, 1, 2, 3)}
RESHARDS |= {
    "reshard stage0 fp16": ["-w", "2", "--stage", "0", "--stage0-form", "fp16"],
    "reshard stage0 unfused": ["-w", "2", "--stage", "0", "--stage0-form", "fp16-unfused"],
    "reshard sub-groups": ["-w", "3", "--stage", "3", "--sub-group-size", "500"],
    "reshard tp1": ["-w", "2", "--tp", "1"],
    "reshard tp2": ["-w", "4", "--tp", "2"],
    "reshard pp1": ["-w", "2", "--pp", "1"],
    "reshard ep1": ["-w", "4", "--ep", "1"],
    "reshard ep2": ["-w", "4", "--ep", "2"],
    "reshard row-major": ["-w", "2", "--row-major"],
    "reshard options": ["-w", "2", "--tag-out", "other", "--no-latest", "--optimizer-option", "lr=1e-3"],
}
EXPORTS = {
    "export safetensors": ["--format", "safetensors"],
    "export torch fp16": ["--format", "torch", "--dtype", "fp16", "--shard-size", "2000"],
    "export npy": ["--format", "npy", "--states", "fp32,exp_avg"],
    "export npy fp32": ["--format", "npy", "--dtype", "fp32"],
    "export adapter": ["--format", "adapter"],
    "export bf16 prefix": ["--format", "safetensors", "--dtype", "bf16", "--strip-prefix", "module."],
}
ANSWERS = {
    "inspect": ["inspect", "src"],
    "params": ["params", "src"],
    "layout": ["layout", "src"],
    "layout of rank 0": ["layout", "src", "--rank", "dp0"],
    "files": ["files", "src"],
    "stats": ["stats", "src", "--exact"],
    "check": ["check", "src"],
    "check metadata": ["check", "src", "--depth", "metadata"],
    "check for": ["check", "src", "--for", "world-size=3,stage=2"],
    "verify": ["verify", "src"],
    "fingerprint": ["fingerprint", "src", "--per-parameter"],
    "fingerprint joined": ["fingerprint", "src", "--join"],
}


def damaged(folder):
    """Names of damages, each with what makes it in a copy of the checkpoint."""
    newest = (folder / "latest").read_text().strip() if (folder / "latest").exists() else ""
    tag = folder / newest if newest else next(path for path in sorted(folder.iterdir()) if path.is_dir())
    optim = sorted(path for path in tag.glob("*optim_states.pt"))
    model = sorted(path for path in tag.glob("*model_states.pt"))
    out = {"latest removed": lambda: (folder / "latest").unlink(missing_ok=True)}
    if optim:
        out["first shard removed"] = lambda: optim[0].unlink()
        out["last shard removed"] = lambda: optim[-1].unlink()
        out["last shard halved"] = lambda: _halve(optim[-1])
        out["value flipped"] = lambda: _flip(optim[-1])
    if len(optim) > 1:
        out["shards exchanged"] = lambda: _exchange(optim[0], optim[1])
    if model:
        out["first model file removed"] = lambda: model[0].unlink()
        out["last model file removed"] = lambda: model[-1].unlink()
    return out


def _halve(path):
    data = path.read_bytes()
    path.write_bytes(data[:len(data) // 2])


def _flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x40
    path.write_bytes(bytes(data))


def _exchange(one, other):
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def _answers(recorder, sample):
    for name, arguments in ANSWERS.items():
        recorder.call(f"{sample} {name}", arguments)
        recorder.call(f"{sample} {name} --json", [*arguments, "--json"])
    recorder.call(f"{sample} reports", ["check", "src", "--sarif", "report.sarif", "--html", "report.html"])
    for report in ("report.sarif", "report.html"):
        if (recorder.folder / report).exists():
            recorder.add_files(f"{sample} reports", recorder.folder / report)
    for name in _parameters(recorder)[:2]:
        for arguments in (["show", "src", name], ["layout", "src", "--param", name], ["stats", "src", name]):
            recorder.call(f"{sample} {arguments[0]} {name}", arguments)
            recorder.call(f"{sample} {arguments[0]} {name} --json", [*arguments, "--json"])


def _parameters(recorder):
    done = subprocess.run([recorder.program, "params", "src", "--json"], cwd=recorder.folder, capture_output=True)
    try:
        return [entry["name"] for entry in json.loads(done.stdout).get("params", [])]
    except ValueError:
        return []


def _writes(recorder, sample, fix_times):
    for name, arguments in RESHARDS.items():
        target = name.replace(" ", "-")
        recorder.call(f"{sample} {name} --dry-run", ["reshard", "src", target, *arguments, "--dry-run", "--json"])
        if recorder.write(f"{sample} {name}", ["reshard", "src", target, *arguments], target) and name == "reshard w3":
            for answer in (["diff", "src", target], ["verify", target, "--against", "src"], ["check", target]):
                recorder.call(f"{sample} {name} {answer[0]}", answer)
                recorder.call(f"{sample} {name} {answer[0]} --json", [*answer, "--json"])
    for name, arguments in EXPORTS.items():
        target = name.replace(" ", "-")
        recorder.write(f"{sample} {name}", ["export", "src", target, *arguments], target)
    # A second step, from each form that holds the whole state.
    for form in ("universal", "dcp"):
        if not recorder.write(f"{sample} convert {form}", ["convert", "src", form, "--to", form], form):
            continue
        fix_times(recorder.folder / form)
        for stage in ("1", "3"):
            target = f"from-{form}-{stage}"
            recorder.write(f"{sample} {form} to stage {stage}",
                           ["reshard", form, target, "-w", "3", "--stage", stage], target)
        recorder.call(f"{sample} inspect {form}", ["inspect", form, "--json"])
    recorder.write(f"{sample} skeleton", ["skeleton", "src", "skeleton.zip"], "skeleton.zip")
    if (recorder.folder / "skeleton.zip").exists():
        recorder.call(f"{sample} inspect skeleton", ["inspect", "skeleton.zip", "--json"])
    if recorder.write(f"{sample} plan", ["plan", "reshard", "src", "planned", "-w", "3", "-o", "plan.json"], "plan.json"):
        recorder.write(f"{sample} run plan", ["run", "plan.json", "planned"], "planned")


def _repairs(recorder, sample, fix_times):
    source = recorder.folder / "src"
    for number, name in enumerate(damaged(source)):
        folder = recorder.folder / f"damaged{number}"
        shutil.copytree(source, folder, symlinks=True)
        damaged(folder)[name]()
        fix_times(folder)
        recorder.call(f"{sample} {name}: check", ["check", folder.name])
        recorder.call(f"{sample} {name}: check --json", ["check", folder.name, "--json"])
        target = f"repaired{number}"
        arguments = ["repair", folder.name, target, "--fix", "all", "--moments", "zeros", "--masters", "weights"]
        recorder.call(f"{sample} {name}: repair --dry-run", [*arguments, "--dry-run"])
        recorder.write(f"{sample} {name}: repair", arguments, target)
        shutil.rmtree(folder)


def run_all(recorder, sample, fix_times):
    _answers(recorder, sample)
    _writes(recorder, sample, fix_times)
    _repairs(recorder, sample, fix_times)


def run_help(recorder):
    recorder.call("no command", [])
    recorder.call("help", ["--help"])
    for verb in VERBS:
        recorder.call(f"help {verb}", [verb, "--help"])
    for verb in ("reshard", "convert", "export"):
        recorder.call(f"help plan {verb}", ["plan", verb, "--help"])
    recorder.call("list of findings", ["check", "--list"])
    recorder.call("list of findings --json", ["check", "--list", "--json"])
    for shell in ("bash", "zsh", "fish"):
        recorder.call(f"completion {shell}", ["completion", shell])
    for wrong in (["reshard"], ["inspect", "absent"], ["nonsense"], ["reshard", "a", "b", "-w", "x"]):
        recorder.call("wrong: " + " ".join(wrong), wrong)
