# SPDX-License-Identifier: Apache-2.0
"""Adds the classes of the program's answers, from its JSON schemas, to a copy of the package: generate_answers.py SCHEMAS OUT.

OUT/shardscope is the package then, as the wheel has it. Each object of a schema is a class named by its title; its description is the docstring. An object that several answers
have is one class, with the fields of all. Standard library only.
"""

import json
import re
import shutil
import sys
from pathlib import Path

# Answers that no function of the package returns.
OTHERS = ("completion", "error", "help", "version", "saved-plan", "serve-file-results", "serve-files",
          "serve-reply", "serve-request")
# The result of `check` has a list where the program writes none.
DEFAULTS = {("CheckAnswer", "results"): ("List[CheckResult]", "field(default_factory=list)")}
WORDS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}

HEAD = '''# SPDX-License-Identifier: Apache-2.0
"""The objects that the functions return: one class for each JSON object of the command line.

Written by generate_answers.py from the JSON schemas.
"""

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from .base import Answer
'''


def python_type(schema):
    """The type, and whether null is allowed."""
    if "$ref" in schema:
        return schema["$ref"].rsplit("/", 1)[1], False
    if "oneOf" in schema:
        kinds = [python_type(one) for one in schema["oneOf"] if one != {"type": "null"}]
        return kinds[0][0], {"type": "null"} in schema["oneOf"]
    if "enum" in schema:
        return "str", None in schema["enum"]
    kind = schema.get("type")
    if isinstance(kind, list):
        plain = [one for one in kind if one != "null"]
        return (python_type({**schema, "type": plain[0]})[0] if len(plain) == 1 else "Any"), "null" in kind
    if kind == "array":
        inner, null = python_type(schema["items"])
        return f"List[{f'Optional[{inner}]' if null and inner != 'Any' else inner}]", False
    if kind == "object":
        return f"Dict[str, {python_type(schema['additionalProperties'])[0] if 'additionalProperties' in schema else 'Any'}]", False
    return WORDS[kind], False


class Described:
    """A class as all schemas together describe it."""

    def __init__(self):
        self.text, self.fields, self.seen = "", {}, 0

    def add(self, schema):
        self.text = schema["description"]
        required = schema.get("required", []) if "oneOf" not in schema else set.intersection(
            *({*schema.get("required", []), *way["required"]} for way in schema["oneOf"]))
        for name, inner in schema["properties"].items():
            if name == "schema" or name.endswith("_hex"):
                continue
            kind, null = python_type(inner)
            known = self.fields.get(name, (kind, False, self.seen > 0, ""))
            self.fields[name] = (kind, null or known[1], known[2] or name not in required,
                                 known[3] or inner.get("description", ""))
        for name in self.fields.keys() - schema["properties"].keys():
            kind, null, _, text = self.fields[name]
            self.fields[name] = (kind, null, True, text)
        self.seen += 1

    def source(self, title):
        lines, later = [], []
        for name, (kind, null, optional, text) in self.fields.items():
            hint, default = f"Optional[{kind}]" if null or optional else kind, " = None" if optional else ""
            if (title, name) in DEFAULTS:
                hint, default = DEFAULTS[title, name][0], f" = {DEFAULTS[title, name][1]}"
            (later if default else lines).append(f"    {name}: {hint}{default}" + (f"  #: {text}" if text else ""))
        return f'\n\n@dataclass(frozen=True)\nclass {title}(Answer):\n    """{self.text}"""\n\n' + "\n".join(lines + later) + "\n"

    def uses(self):
        return {word for kind, *_ in self.fields.values() for word in re.findall(r"\w+", kind)}


def classes(folder):
    """Title → class."""
    found = {}
    for path in sorted(Path(folder).glob("*.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        if path.stem not in OTHERS:
            for one in [*schema.get("$defs", {}).values(), schema]:
                found.setdefault(one["title"], Described()).add(one)
    return found


def source(folder):
    """The text of answers/__init__.py."""
    found = classes(folder)
    listed = "".join(f'    "{name}",\n' for name in ["Answer", *sorted(found)])
    out = f"{HEAD}\n__all__ = [\n{listed}]\n"
    left = dict(found)
    while left:  # a class comes after those that it uses
        for name in [name for name, one in left.items() if not one.uses() & (left.keys() - {name})]:
            out += left.pop(name).source(name)
    return out


def main(folder, out):
    package = Path(out) / "shardscope"
    shutil.copytree(Path(__file__).resolve().parent / "shardscope", package, dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("__pycache__"))
    (package / "answers/__init__.py").write_text(source(folder), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
