# SPDX-License-Identifier: Apache-2.0
"""README and manual: check_manual.py SOURCE. Links lead somewhere, the README is one page, sentences are short."""

import re
import sys
from pathlib import Path

SOURCE = Path(sys.argv[1])
MAX_README_WORDS = 1100
MAX_SENTENCE_WORDS = 35
# What the project says in other words.
AVOIDED = ("mend", "mended", "wound", "anew", "told", "heeds", "heeded", "stranger", "strangers", "beside", "without a word",
           "out of reach", "cannot be told", "by hand")

problems = []
pages = [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", *sorted((SOURCE / "resources/manual").glob("*.md"))]
sentences = 0
for page in pages:
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(SOURCE)
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in target and not (page.parent / target).exists():
            problems.append(f"{name}: the link {target} leads nowhere")
    prose = re.sub(r"```.*?```", "", text, flags=re.S)
    prose = "\n".join(line for line in prose.splitlines() if not line.startswith(("|", "#", "!")))
    for word in AVOIDED:
        if re.search(rf"\b{word}\b", prose, re.I):
            problems.append(f"{name}: says “{word}”")
    for sentence in re.split(r"(?<=[.:;!?])\s+|\n\s*\n|\n- ", prose):
        sentences += 1
        words = len(re.findall(r"[\w`][^\s]*", sentence))
        if words > MAX_SENTENCE_WORDS:
            problems.append(f"{name}: {words} words: {' '.join(sentence.split())[:100]}…")
words = len((SOURCE / "README.md").read_text(encoding="utf-8").split())
if words > MAX_README_WORDS:
    problems.append(f"README.md has {words} words; at most {MAX_README_WORDS}")
# One place lists the environment variables that the programs and the Python package read.
table = (SOURCE / "resources/manual/scripting.md").read_text(encoding="utf-8")
for folder in ("core", "app", "ui", "packaging/python/shardscope", "packaging/python/shardscope_gui"):
    for file in (SOURCE / folder).rglob("*"):
        if file.suffix not in (".cpp", ".h", ".py"):
            continue
        text = file.read_text(encoding="utf-8")
        for name in re.findall(r'(?:getenv|qEnvironmentVariable\w*|environ\.get)\(u?"([A-Z_]+)"', text):
            if f"`{name}`" not in table and name != "HOME":
                problems.append(f"{file.relative_to(SOURCE)}: {name} is not in resources/manual/scripting.md")
# One version number: that of the project.
version = re.search(r"^project\(shardscope VERSION ([0-9.]+) ", (SOURCE / "CMakeLists.txt").read_text(), re.M).group(1)
newest = re.search(r"^## (\S+) \((\S+)\)$", (SOURCE / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
release = re.search(r'<release version="([^"]+)" date="([^"]+)"',
                    (SOURCE / "packaging/linux/org.shardscope.Shardscope.metainfo.xml").read_text(encoding="utf-8"))
if newest.groups() != release.groups() or newest.group(1) != version:
    problems.append(f"versions differ: project {version}, changelog {newest.groups()}, metainfo {release.groups()}")
print("\n".join(problems) or f"{len(pages)} pages, {sentences} sentences, README of {words} words")
sys.exit(1 if problems else 0)
