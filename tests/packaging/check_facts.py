# SPDX-License-Identifier: Apache-2.0
"""Numbers and lists that README and manual repeat: check_facts.py PROGRAM SOURCE. The program knows them."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM, SOURCE = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
problems = []


def answer(*words):
    done = subprocess.run([PROGRAM, *words, "--json"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout)


def number(page, pattern, expected):
    """Each place where the page has this pattern says the number; there is at least one."""
    found = re.findall(pattern, " ".join((SOURCE / page).read_text(encoding="utf-8").split()))
    if not found:
        problems.append(f"{page}: no place says “{pattern}”")
    for one in found:
        if one.replace(",", "") != str(expected):
            problems.append(f"{page}: “{pattern}” is {one}; the program says {expected}")


diagnoses = answer("check", "--list")["diagnoses"]
for page in ("README.md", "resources/manual/repairing.md"):
    number(page, r"knows (\d+) defects", len(diagnoses))
number("README.md", r"fixes (\d+) of them", sum(one["repairs"] for one in diagnoses))

with tempfile.TemporaryDirectory() as folder:
    sample = str(SOURCE / "tests/data/samples/zero2-w2")
    most = re.search(r"between 1 and (\d+)", answer("reshard", sample, f"{folder}/run", "--world-size", "99999999")["message"])
for page in ("README.md", "resources/manual/support.md"):
    number(page, r"1 to ([\d,]+) ranks", most.group(1))

oldest = min(tuple(map(int, one.split("."))) for one in answer("--version")["tested_deepspeed"])
number("resources/manual/support.md", r"checkpoints of DeepSpeed since ([\d.]+\d)", ".".join(map(str, oldest)))

# The page of every exit status has the same statuses as --help.
help_text = subprocess.run([PROGRAM, "reshard", "--help"], capture_output=True, text=True, check=True).stdout
statuses = re.findall(r"^\s+(\d+) ", help_text[help_text.index("EXIT STATUS"):], re.M)
listed = re.findall(r"^\| (\d+) \|", (SOURCE / "resources/manual/scripting.md").read_text(encoding="utf-8"), re.M)
if not statuses or statuses != listed:
    problems.append(f"scripting.md lists the exit statuses {listed}, --help {statuses}")

# Every page of the manual is in the README's list, and in the program.
pages = sorted(path.stem for path in (SOURCE / "resources/manual").glob("*.md"))
linked = sorted(set(re.findall(r"\(resources/manual/(\S+?)\.md\)", (SOURCE / "README.md").read_text(encoding="utf-8"))))
if pages != linked:
    problems.append(f"README.md links the pages {linked}; there are {pages}")

print("\n".join(problems) or "facts agree")
sys.exit(1 if problems else 0)
