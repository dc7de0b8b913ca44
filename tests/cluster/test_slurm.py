# SPDX-License-Identifier: Apache-2.0
"""Jobs under a real Slurm on this machine: test_slurm.py PROGRAM SOURCE MODULES. Standard library only.

MODULES: the MPI modules that were built, such as openmpi,mpich. The daemons get folders and ports of their own and no
authentication, and end with the test.
"""

import getpass
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM, SOURCE = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
SAMPLES = SOURCE / "tests/data/samples"
MODULES = sys.argv[3].split(",")
SECONDS = 60  # for anything to happen

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,batch_sched_delay=0
KillWait=5
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def content_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def as_resharded(folder):
    """The content of a copy of `ensure` without the run, which its manifest records and that of a reshard does not."""
    return {name: re.sub(rb',"run":"[0-9a-f]{16}"', b"", content) if name.endswith("shardscope.json") else content
            for name, content in content_of(folder).items()}


class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemons = []
        cls.home = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.home, ignore_errors=True)
        cls.addClassCleanup(cls.stop)
        host = socket.gethostname().split(".")[0]
        configuration = cls.home / "slurm.conf"
        configuration.write_text(
            CONFIGURATION.format(host=host, user=getpass.getuser(), folder=cls.home, ports=free_ports(2)))
        for folder in ("state", "spool"):
            (cls.home / folder).mkdir()
        cls.environment = {**os.environ, "SLURM_CONF": str(configuration)}
        for daemon in ("slurmctld", "slurmd"):
            path = shutil.which(daemon, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
            cls.daemons.append(subprocess.Popen([path, "-D", "-f", str(configuration)], env=cls.environment,
                                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        end = time.monotonic() + SECONDS
        while "idle" not in cls.slurm("sinfo", "-h", "-o", "%t", check=False):
            if time.monotonic() > end:
                logs = "".join(path.read_text(errors="replace")[-3000:] for path in cls.home.glob("*.log"))
                raise RuntimeError("Slurm does not start:\n" + logs)
            time.sleep(0.2)

    @classmethod
    def stop(cls):
        for daemon in reversed(cls.daemons):
            daemon.terminate()
        for daemon in cls.daemons:
            daemon.wait()

    @classmethod
    def slurm(cls, *words, check=True, cwd=None):
        done = subprocess.run([str(word) for word in words], env=cls.environment, cwd=cwd, capture_output=True, text=True,
                              timeout=SECONDS)
        if check and done.returncode != 0:
            raise AssertionError(f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.run_folder = self.folder / "run"
        shutil.copytree(SAMPLES / "zero3-w4", self.run_folder)

    def expected(self, *words):
        """What one process writes."""
        target = self.folder / "expected"
        subprocess.run([str(PROGRAM), "reshard", str(self.run_folder), str(target), *words, "--quiet"], check=True,
                       stdout=subprocess.DEVNULL)
        return content_of(target)

    def wait_for(self, job, state):
        end = time.monotonic() + SECONDS
        while True:
            shown = self.slurm("scontrol", "show", "job", job)
            states = [word for word in shown.split() if word.startswith("JobState=")]
            if states and all(word == "JobState=" + state for word in states):
                return
            if time.monotonic() > end or "JobState=FAILED" in states:
                outputs = "".join(path.read_text(errors="replace")
                                  for path in [*self.folder.glob("slurm*.out"), self.home / "slurmd.log"])
                self.fail(f"{shown}\n{outputs}")
            time.sleep(0.1)

    def test_two_tasks_ensure_one_copy(self):
        command = f'"{PROGRAM}" ensure "{self.run_folder}" --world-size 3 --json > answer.$SLURM_PROCID'
        self.slurm("srun", "-n", "2", "sh", "-c", command, cwd=self.folder)
        answers = [json.loads((self.folder / f"answer.{rank}").read_text()) for rank in (0, 1)]
        self.assertEqual(answers[0]["folder"], answers[1]["folder"])
        self.assertEqual(sorted(answer["how"] for answer in answers), ["found", "made"])
        copy = as_resharded(Path(answers[0]["folder"]))
        for name, content in self.expected("--world-size", "3").items():
            self.assertEqual(copy[name], content, name)

    def test_an_array_writes_parts(self):
        expected = self.expected("--world-size", "3")
        command = f'"{PROGRAM}" reshard "{self.run_folder}" "{self.folder}/out" -w 3 --part'
        job = self.slurm("sbatch", "--parsable", "--array=0-3", "--wrap", command + " $SLURM_ARRAY_TASK_ID/4",
                         cwd=self.folder).strip()
        self.wait_for(job, "COMPLETED")
        self.assertFalse((self.folder / "out/latest").exists())
        self.slurm("srun", "-n", "1", PROGRAM, "reshard", self.run_folder, self.folder / "out", "-w", "3", "--finish")
        self.assertEqual(content_of(self.folder / "out"), expected)

    def test_tasks_share_a_job_by_mpi(self):
        expected = self.expected("--world-size", "3")
        for module, plugin, tasks in (("openmpi", "pmix", "2"), ("mpich", "pmi2", "3")):
            if module not in MODULES:
                continue
            with self.subTest(module):
                target = self.folder / module
                answer = json.loads(self.slurm("srun", f"--mpi={plugin}", "-n", tasks, PROGRAM, "--mpi", "reshard",
                                               self.run_folder, target, "-w", "3", "--json"))
                self.assertTrue(answer["result"]["verified"])
                self.assertEqual(content_of(target), expected)

    def test_tasks_without_mpi_do_not_repeat_a_job(self):
        done = subprocess.run(["srun", "-n", "2", str(PROGRAM), "verify", str(self.run_folder)], env=self.environment,
                              capture_output=True, text=True, timeout=SECONDS)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("this is process 1 of 2", done.stderr)

    def test_a_stopped_job_goes_on_when_it_is_queued_again(self):
        # The script of the manual, but that the first run is slow, and that the job waits to be released: Slurm refuses
        # to start it again within the second in which it ended. The signal comes as before a time limit.
        script = self.folder / "job.sh"
        script.write_text(f"""#!/bin/bash
#SBATCH --ntasks=3 --time=10 --requeue --open-mode=append --signal=B:TERM@60
again() {{ kill -TERM "$WORK"; wait "$WORK"; scontrol requeuehold "$SLURM_JOB_ID"; exit; }}
trap again TERM
[ -n "$SLURM_RESTART_COUNT" ] || slow="--bwlimit 250K"
"{PROGRAM}" ensure run --world-size "$SLURM_NTASKS" $slow > "folder.$SLURM_JOB_ID" & WORK=$!
wait "$WORK"
srun sh -c 'cat "folder.$SLURM_JOB_ID" > "found.$SLURM_PROCID"' & WORK=$!
wait "$WORK"
""")
        job = self.slurm("sbatch", "--parsable", "-o", "slurm.out", script, cwd=self.folder).strip()
        end = time.monotonic() + SECONDS
        while not list(self.folder.glob("run-w3/.*.partial-*/plan")):
            self.assertLess(time.monotonic(), end, "the first run does not begin to write")
            time.sleep(0.05)
        self.slurm("scancel", "--batch", "--signal=TERM", job)
        self.wait_for(job, "PENDING")
        self.assertFalse((self.folder / "run-w3/latest").exists())
        time.sleep(1.5)
        self.slurm("scontrol", "release", job)
        self.slurm("scontrol", "update", f"JobId={job}", "StartTime=now")
        self.wait_for(job, "COMPLETED")
        copy = as_resharded(self.folder / "run-w3")
        for name, content in self.expected("--world-size", "3").items():
            self.assertEqual(copy[name], content, name)
        for rank in range(3):
            found = (self.folder / f"found.{rank}").read_text().strip()
            self.assertEqual((self.folder / found).resolve(), (self.folder / "run-w3").resolve())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
