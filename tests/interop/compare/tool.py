# SPDX-License-Identifier: Apache-2.0
"""Calls the built shardscope as a user does: as a process."""

import json
import subprocess

from runs import live


class ToolFailure(RuntimeError):
    """shardscope ended with another status than expected."""


class Tool:

    def __init__(self, program, limit_seconds=120):
        self.program = program
        self.limit_seconds = limit_seconds
        self.live = False  # what a case reshards, it loads from the source, too

    def call(self, *arguments, expect=0):
        """Runs a verb with --json and returns its answer."""
        command = [str(self.program), *map(str, arguments), "--json", "--progress", "none"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=self.limit_seconds)
        if ended.returncode != expect:
            raise ToolFailure(f"{' '.join(command)}\nended with {ended.returncode}, not {expect}\n"
                              f"{ended.stdout[-1500:]}{ended.stderr[-1500:]}")
        return json.loads(ended.stdout)

    def reshard(self, source, target, world, *options):
        if self.live:
            live.record(source, target, options)
        return self.call("reshard", source, target, "--world-size", world, *options)

    def convert(self, source, target, *options):
        return self.call("convert", source, target, "--to", "universal", *options)
