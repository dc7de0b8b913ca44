# SPDX-License-Identifier: Apache-2.0
"""The doctor on every checkpoint that cases read or write: undamaged ones have no finding above info, at any depth."""

import fnmatch
import json
import subprocess
from pathlib import Path

from compare.tool import Tool

NOT_LOOKED_AT = ("check", "repair")  # these cases damage their checkpoints and check them themselves
# Cases whose checkpoints are not healthy, and the codes of their findings.
TRUE_OF = [
    ("*adagrad*", "schedule-discontinuity"),  # stock ZeRO builds torch's again: schedulers change the former one
    ("old ds053-*", "alias-unrecorded"),  # these releases do not record ties
    ("old ds083-*", "alias-unrecorded"),
    ("stage *-mixer-twice-*", "alias-unrecorded"),  # the source's; what reshard writes records it
    ("*nvme*", "nvme-state-skew"),  # stock's own resume loses moments and steps
    ("nvme live swap folder *", "swap-missing"),  # the checkpoint alone is checked, too
    ("nvme swap folder alone *", "marked"),
    ("doctor many parameters *", "marked"),  # repaired copies
    ("diff reports stale copies*", "masters-not-copies"),  # planted
    ("fingerprint same rate as tensor *", "schedule-discontinuity"),  # planted
]


class CheckedTool(Tool):
    """The tool; after every call the named folders are checked."""

    def __init__(self, program):
        super().__init__(program)
        self.case = None
        self.alarms = []  # (case, folder, codes)
        self.checked = 0
        self._seen = set()

    def call(self, *arguments, expect=0):
        answer = super().call(*arguments, expect=expect)
        if expect == 0 and arguments[0] not in NOT_LOOKED_AT:
            for argument in arguments[1:]:
                if Path(str(argument)).is_dir():
                    self._look(Path(str(argument)))
        return answer

    def _look(self, folder):
        state = (folder, *sorted((entry.name, entry.stat().st_mtime_ns) for entry in folder.iterdir()))
        if state in self._seen:
            return
        self._seen.add(state)
        ended = subprocess.run([str(self.program), "check", folder, "--depth", "bytes", "--fail-on", "warning", "--json",
                                "--progress", "none"], capture_output=True, text=True, timeout=self.limit_seconds)
        if ended.returncode in (3, 4):
            return  # other folders: exports, configurations, swap files
        if ended.returncode not in (0, 1):
            self.alarms.append((self.case, folder, [f"check ended with {ended.returncode}"]))
            return
        self.checked += 1
        found = sorted({finding["code"] for result in json.loads(ended.stdout)["results"]
                        for finding in result["findings"] if finding["severity"] != "info"})
        true = {code for pattern, code in TRUE_OF if fnmatch.fnmatchcase(self.case, pattern)}
        if set(found) - true:
            self.alarms.append((self.case, folder, found))
