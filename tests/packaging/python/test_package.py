# SPDX-License-Identifier: Apache-2.0
"""The Python package with the built program: test_package.py PROGRAM SOURCE PACKAGE. Standard library only.

PACKAGE is the folder that generate_answers.py has written.
"""

import contextlib
import io
import json
import os
import pickle
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import types
import unittest
import unittest.mock
from pathlib import Path

PROGRAM, SOURCE, PACKAGE = (Path(word).resolve() for word in sys.argv[1:4])
SAMPLES = SOURCE / "tests/data/samples"
sys.path.insert(0, str(PACKAGE))
os.environ["SHARDSCOPE_PROGRAM"] = str(PROGRAM)

import shardscope  # noqa: E402
from shardscope import answers, frameworks  # noqa: E402
from shardscope.commands import option_words  # noqa: E402
from shardscope.server import Server  # noqa: E402


class InFolder(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def copy(self, sample):
        shutil.copytree(SAMPLES / sample, self.folder / sample)
        return self.folder / sample


class Reading(InFolder):
    def test_inspect(self):
        answer = shardscope.inspect(SAMPLES / "zero3-w4")
        self.assertEqual((answer.kind, answer.parallel.dp, answer.zero_stage), ("zero3", 4, 3))
        self.assertIsInstance(answer.loss_scale, float)
        self.assertEqual(answer.raw["schema"], "shardscope/inspect/1")
        self.assertEqual(shardscope.inspect(SAMPLES / "zero2-w2", tag="global_step3").tag, "global_step3")

    def test_params_and_stats(self):
        params = {one.name: one for one in shardscope.params(SAMPLES / "zero2-w2").parameters}
        self.assertEqual(params["norm.weight"].states["exp_avg"].shape, params["norm.weight"].shape)
        tensors = shardscope.stats(SAMPLES / "zero2-w2", ["norm.weight"], exact=True).tensors
        self.assertEqual({one.name for one in tensors}, {"norm.weight"})
        self.assertTrue(all(isinstance(one.mean, float) and one.exact for one in tensors))

    def test_show(self):
        shown = shardscope.show(SAMPLES / "zero2-w2", "norm.weight#exp_avg[0:3]")
        self.assertEqual((shown.name, shown.state, shown.start, len(shown.values)), ("norm.weight", "exp_avg", 0, 3))
        whole = shardscope.show(SAMPLES / "zero2-w2", "norm.weight", npy=self.folder / "w.npy")
        self.assertTrue(Path(whole.npy.path).exists())

    def test_plan_skeleton_clean(self):
        run = self.copy("zero2-w2")
        planned = shardscope.plan("reshard", run, self.folder / "out", self.folder / "plan.json", world_size=3)
        self.assertEqual((planned.file, planned.plan.kind), (str(self.folder / "plan.json"), "zero2"))
        self.assertTrue(shardscope.run_plan(planned.file).result.verified)
        self.assertTrue(shardscope.run_plan(planned.file).result.was_done)
        elsewhere = shardscope.run_plan(planned.file, self.folder / "elsewhere", progress=lambda step: None)
        self.assertTrue(elsewhere.result.verified and (self.folder / "elsewhere").is_dir())
        small = shardscope.skeleton(run, self.folder / "bug.zip")
        self.assertLess(small.bytes_after, small.bytes_before)
        shardscope.reshard(run, self.folder / "parts", 3, part="0/2")
        work = shardscope.clean(self.folder / "parts").work
        self.assertEqual([one.state for one in work], ["abandoned"])
        self.assertEqual(shardscope.clean(self.folder / "parts", remove=True).work[0].state, "removed")

    def test_every_command_has_a_function(self):
        names = {"run": "run_plan"}
        without = {"completion", "help", "serve"}
        listed = subprocess.run([shardscope.find_program(), "--help"], capture_output=True, text=True, check=True).stdout
        commands = re.findall(r"^  ([a-z]+)  +\S", listed.split("COMMANDS")[1].split("OPTIONS")[0], re.M)
        self.assertGreater(len(commands), 18)
        for command in set(commands) - without:
            self.assertTrue(callable(getattr(shardscope, names.get(command, command), None)), command)

    def test_layout_and_files(self):
        layout = shardscope.layout(SAMPLES / "zero2-w2")
        self.assertEqual([share.rank.dp for share in layout.groups[0].ranks], [0, 1])
        fragments = shardscope.layout(SAMPLES / "zero2-w2", param="norm.weight").fragments
        self.assertTrue(fragments and all(one.param == "norm.weight" for one in fragments))
        files = shardscope.files(SAMPLES / "zero2-w2", records=True).files
        self.assertIn("data.pkl", [record.name for record in files[0].zip_records])

    def test_tags(self):
        run = self.copy("zero2-w2")
        self.assertEqual([tag.tag for tag in shardscope.tags(run).tags], ["global_step3", "global_step6"])
        self.assertEqual(shardscope.newest_complete(run), str(run / "global_step6"))
        self.assertEqual(shardscope.newest_complete(run).passed_over, [])
        next((run / "global_step6").glob("*_rank_1_*")).unlink()
        with self.assertWarnsRegex(shardscope.FallbackWarning, "global_step6: the file of rank 1 is missing"):
            found = shardscope.newest_complete(run)
        self.assertEqual((found, found.tag), (str(run / "global_step3"), "global_step3"))
        self.assertEqual([one.tag for one in found.passed_over], ["global_step6"])
        self.check_first_start(shardscope.newest_complete)

    def check_first_start(self, function):
        """Only a folder in which nothing was saved yet is no error: a wrong path must not start from nothing."""
        for wrong in (self.folder / "absent", self.folder):
            with self.assertRaises(shardscope.ShardscopeError) as caught:
                function(wrong)
            self.assertIn(caught.exception.code, ("not-found", "not-a-checkpoint"))
        self.assertIsNone(function(self.folder / "absent", missing_ok=True))
        with self.assertRaises(shardscope.ShardscopeError):
            function(self.folder, missing_ok=True)  # a folder of runs
        (self.folder / "new").mkdir()
        self.assertIsNone(function(self.folder / "new"))
        (self.folder / "new/config.yaml").write_text("lr: 1")
        self.assertIsNone(function(self.folder / "new"))

    def test_ensure(self):
        run = self.copy("zero2-w2")
        self.assertEqual(shardscope.ensure(run, world_size=2), str(run))
        made = shardscope.ensure(run, world_size=3)
        self.assertEqual(made, str(run) + "-w3")
        self.assertEqual(shardscope.inspect(made).parallel.dp, 3)
        self.assertEqual(shardscope.ensure(run, world_size=3), made)
        self.assertEqual((made.tag, made.passed_over), ("global_step6", []))
        self.assertIs(type(pickle.loads(pickle.dumps(made))), str)
        with self.assertWarnsRegex(shardscope.ReshardWarning, "not divisible by 7"):
            shardscope.ensure(run, world_size=7)
        damaged = next(Path(made).glob("global_step6/*_rank_0_*"))
        times, data = damaged.stat(), bytearray(damaged.read_bytes())
        data[len(data) // 2] ^= 1
        damaged.write_bytes(data)
        os.utime(damaged, ns=(times.st_atime_ns, times.st_mtime_ns))
        self.assertEqual(shardscope.ensure(run, world_size=3, verify=True), made)
        self.assertTrue(shardscope.verify(made).ok)
        next((run / "global_step6").glob("*_rank_1_*")).unlink()
        with self.assertWarnsRegex(shardscope.FallbackWarning, "global_step6: .*is older"):
            older = shardscope.ensure(run, world_size=3, into=self.folder / "copies")
        self.assertEqual((older.tag, [one.tag for one in older.passed_over]), ("global_step3", ["global_step6"]))
        next((run / "global_step3").glob("*_rank_1_*")).unlink()
        with self.assertRaises(shardscope.ShardscopeError) as refused:
            shardscope.ensure(run, world_size=3)
        self.assertEqual(refused.exception.code, "refused")
        self.check_first_start(lambda path, **options: shardscope.ensure(path, world_size=3, **options))

    def test_unknown_fields_are_kept(self):
        rank = answers.Rank.from_json({"dp": 1, "tp": 0, "pp": 0, "later": 7})
        self.assertEqual((rank.dp, rank.raw["later"]), (1, 7))
        with self.assertRaises(KeyError):
            answers.Rank.from_json({"dp": 1})


class Writing(InFolder):
    def test_reshard_with_progress(self):
        seen = []
        answer = shardscope.reshard(SAMPLES / "zero2-w2", self.folder / "out", 3, progress=seen.append)
        self.assertTrue(answer.result.verified)
        self.assertTrue(seen and all(0 <= one.bytes_done <= one.bytes_total for one in seen))
        self.assertTrue(shardscope.verify(self.folder / "out").ok)
        same = shardscope.diff(SAMPLES / "zero2-w2", self.folder / "out")
        self.assertTrue(same.equal)
        self.assertEqual(shardscope.fingerprint(self.folder / "out").fingerprint, answer.result.fingerprint)
        other = shardscope.diff(SAMPLES / "zero2-w2", SAMPLES / "zero2-w2", other_tag="global_step3")
        self.assertFalse(other.equal)  # an answer, not an exception

    def test_dry_run_writes_nothing(self):
        answer = shardscope.reshard(SAMPLES / "zero2-w2", self.folder / "out", 3, dry_run=True)
        self.assertIsNone(answer.result)
        self.assertEqual(answer.plan.world_size, 3)
        self.assertFalse((self.folder / "out").exists())

    def test_convert_and_export(self):
        universal = shardscope.convert(SAMPLES / "zero2-w2", self.folder / "u", "universal", verify=False)
        self.assertFalse(universal.result.verified)
        self.assertEqual(shardscope.inspect(self.folder / "u").kind, "universal")
        shardscope.export(SAMPLES / "zero2-w2", self.folder / "e", states=["fp32", "exp_avg"])
        names = sorted(path.name for path in (self.folder / "e").glob("*.safetensors"))
        self.assertEqual(names, ["exp_avg.safetensors", "fp32.safetensors", "model.safetensors"])

    def test_check_and_repair(self):
        run = self.copy("zero2-w2")
        next((run / "global_step6").glob("*_rank_1_*")).unlink()
        codes = [one.code for one in shardscope.check(run).results[0].findings if one.severity == "error"]
        self.assertEqual(codes, ["rank-missing"])
        repaired = shardscope.repair(run, self.folder / "r", fix=["rank-missing"])
        self.assertTrue(repaired.checked_again and repaired.check.ok)
        results = shardscope.check(run, self.folder / "absent", depth="names").results
        self.assertEqual(results[1].error.code, "not-found")


    def test_fingerprint_of_parts(self):
        run, parts = SAMPLES / "zero2-w2", []
        for rank in (0, 1):
            node = self.folder / f"node{rank}"
            shutil.copytree(run / "global_step6", node / "global_step6")
            next(node.glob(f"global_step6/*_rank_{1 - rank}_*")).unlink()
            parts.append(self.folder / f"node{rank}.json")
            parts[-1].write_text(json.dumps(shardscope.fingerprint(node, partial=True, tag="global_step6").raw))
        combined = shardscope.fingerprint(*parts, combine=True)
        self.assertEqual(combined.fingerprint, shardscope.fingerprint(run).fingerprint)


class Errors(InFolder):
    def test_codes_and_hints(self):
        with self.assertRaises(shardscope.ShardscopeError) as caught:
            shardscope.inspect(self.folder / "absent")
        self.assertEqual((caught.exception.code, caught.exception.exit_code), ("not-found", 3))
        with self.assertRaises(shardscope.ShardscopeError) as caught:
            shardscope.inspect(SAMPLES / "zero2-w2", no_such_option=1)
        self.assertEqual(caught.exception.code, "usage")
        self.assertIn("inspect --help", caught.exception.hint)

    def test_paths_may_begin_with_a_dash(self):
        shutil.copytree(SAMPLES / "zero2-w2", self.folder / "-x")
        here = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, here)
        self.assertEqual(shardscope.inspect("-x").kind, "zero2")

    def test_no_program(self):
        saved = os.environ.pop("SHARDSCOPE_PROGRAM"), os.environ["PATH"]
        try:
            os.environ["PATH"] = str(self.folder)
            with self.assertRaises(shardscope.ShardscopeError) as caught:
                shardscope.inspect(SAMPLES / "zero2-w2")
            self.assertIn("PATH", str(caught.exception))
        finally:
            os.environ["SHARDSCOPE_PROGRAM"], os.environ["PATH"] = saved

    def test_a_program_without_an_answer(self):
        broken = self.folder / "broken"
        broken.write_text("#!/bin/sh\necho something went wrong >&2\nexit 9\n")
        broken.chmod(0o755)
        os.environ["SHARDSCOPE_PROGRAM"] = str(broken)
        try:
            with self.assertRaises(shardscope.ShardscopeError) as caught:
                shardscope.inspect(SAMPLES / "zero2-w2")
        finally:
            os.environ["SHARDSCOPE_PROGRAM"] = str(PROGRAM)
        self.assertEqual((caught.exception.code, caught.exception.exit_code), ("internal", 9))
        self.assertIn("something went wrong", caught.exception.message)


class Interruption(InFolder):
    """A program that waits for SIGINT in place of a long job."""

    def test_an_interrupt_stops_the_program_once(self):
        waiting = self.folder / "waiting"
        waiting.write_text(
            "#!" + sys.executable + "\nimport signal, sys, time\ncount = 0\n"
            "def stop(*_):\n    global count\n    count += 1\n"
            "signal.signal(signal.SIGINT, stop)\n"
            "print('{\"phase\": \"reading\", \"bytes_done\": 0, \"bytes_total\": 1,"
            " \"bytes_per_second\": 0, \"eta_seconds\": null}', file=sys.stderr, flush=True)\n"
            "while count == 0:\n    signal.pause()\n"
            f"open({str(self.folder / 'signals')!r}, 'w').write(str(count))\n"
        )
        waiting.chmod(0o755)
        caller = (
            "import os, signal, sys; sys.path.insert(0, sys.argv[1]); import shardscope\n"
            "try:\n"
            "    shardscope.verify('x', progress=lambda step: os.kill(os.getpid(), signal.SIGINT))\n"
            "except KeyboardInterrupt:\n    print('interrupted')\n"
        )
        ended = subprocess.run(
            [sys.executable, "-c", caller, str(PACKAGE)],
            env={**os.environ, "SHARDSCOPE_PROGRAM": str(waiting)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual(ended.stdout, "interrupted\n", ended.stderr)
        self.assertEqual((self.folder / "signals").read_text(), "1")

    def reshard_in(self, rest, rate="20K"):
        """A process that starts a job and then does `rest`. Waits until the job writes; returns the process."""
        run = self.copy("zero2-w2")
        caller = (
            "import os, signal, sys, threading, time; sys.path.insert(0, sys.argv[1]); import shardscope\n"
            "begun = threading.Event()\n"
            "def job():\n"
            f"    shardscope.reshard(sys.argv[2], sys.argv[3], 3, bwlimit='{rate}', jobs=1,\n"
            "                       progress=lambda step: begun.set())\n" + rest
        )
        return subprocess.Popen(
            [sys.executable, "-c", caller, str(PACKAGE), str(run), str(self.folder / "out")],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def running(self):
        """The processes of the program that work for this test."""
        out = []
        for command in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = command.read_bytes().split(b"\0")
            except OSError:
                continue
            if words[0] == str(PROGRAM).encode() and str(self.folder / "out").encode() in words:
                out.append(command.parent.name)
        return out

    def wait_for(self, condition):
        end = time.monotonic() + 30
        while not condition():
            self.assertLess(time.monotonic(), end, "it takes too long")
            time.sleep(0.02)

    def check_ends(self, rest, signals):
        caller = self.reshard_in(rest)
        self.addCleanup(caller.stderr.close)
        self.addCleanup(caller.wait)
        self.addCleanup(caller.kill)
        self.wait_for(lambda: list((self.folder / "out").glob(".*.partial-*/files/*")))
        self.assertEqual(len(self.running()), 1)
        for number in signals:
            caller.send_signal(number)
        caller.wait(timeout=30)
        self.wait_for(lambda: not self.running())
        again = shardscope.reshard(self.folder / "zero2-w2", self.folder / "out", 3)
        self.assertTrue(again.result.verified)
        shutil.rmtree(self.folder / "out")
        shutil.rmtree(self.folder / "zero2-w2")

    def test_the_program_ends_with_its_caller(self):
        self.check_ends("job()\n", [signal.SIGTERM])
        self.check_ends("job()\n", [signal.SIGKILL])
        self.check_ends("job()\n", [signal.SIGINT])
        in_thread = "threading.Thread(target=job).start(); begun.wait(); time.sleep(1000)\n"
        self.check_ends(in_thread, [signal.SIGINT])
        self.check_ends(in_thread, [signal.SIGTERM])
        self.check_ends("threading.Thread(target=job, daemon=True).start(); begun.wait(); time.sleep(0.5)\n", [])

    def test_a_script_may_be_between(self):
        script = self.folder / "script"
        script.write_text(f'#!/bin/sh\n"{PROGRAM}" "$@"\nexit $?\n')
        script.chmod(0o755)
        with unittest.mock.patch.dict(os.environ, SHARDSCOPE_PROGRAM=str(script)):
            self.assertEqual(shardscope.inspect(SAMPLES / "zero2-w2").kind, "zero2")

    def test_a_thread_is_waited_for(self):
        caller = self.reshard_in("threading.Thread(target=job).start()\n", "1G")
        self.addCleanup(caller.stderr.close)
        self.assertEqual(caller.wait(timeout=60), 0)
        self.assertTrue((self.folder / "out" / "latest").exists())

    def test_an_exception_of_the_progress_function_stops_the_program(self):
        def stop(_):
            raise RuntimeError("enough")

        with self.assertRaisesRegex(RuntimeError, "enough"):
            shardscope.reshard(SAMPLES / "zero2-w2", self.folder / "out", 3, progress=stop)


class Callback(InFolder):
    """Without Transformers: a stand-in for the base class. tests/interop has the real Trainer."""

    def setUp(self):
        super().setUp()
        module = types.ModuleType("transformers")
        module.TrainerCallback = object
        sys.modules["transformers"] = module
        self.addCleanup(sys.modules.pop, "transformers")
        from shardscope import transformers

        self.module = transformers
        self.output = self.folder / "out"
        shutil.copytree(SAMPLES / "zero2-w2", self.output / "checkpoint-6")
        self.record = self.output / "checkpoint-6" / transformers.RECORD

    def save(self, main=True, **options):
        callback = self.module.CheckpointCallback(**options)
        arguments = types.SimpleNamespace(output_dir=str(self.output))
        callback.on_save(arguments, types.SimpleNamespace(is_world_process_zero=main, global_step=6), None)
        return callback

    def damage(self):
        torn = next((self.output / "checkpoint-6" / "global_step6").glob("*_rank_1_*"))
        os.truncate(torn, 500)

    def test_a_good_checkpoint_is_recorded(self):
        self.save(fingerprint=True).wait()
        record = json.loads(self.record.read_text())
        self.assertEqual((record["tag"], record["errors"]), ("global_step6", []))
        self.assertEqual(record["fingerprint"], shardscope.fingerprint(self.output / "checkpoint-6").fingerprint)
        self.assertEqual(shardscope.inspect(self.output / "checkpoint-6").tag, "global_step6")

    def test_other_ranks_do_nothing(self):
        self.save(main=False)
        self.assertFalse(self.record.exists())

    def test_errors_are_logged_or_stop_the_job(self):
        self.damage()
        with self.assertLogs("shardscope.transformers", "ERROR"):
            self.save()
        self.assertTrue(json.loads(self.record.read_text())["errors"])
        with self.assertLogs("shardscope.transformers", "ERROR"), self.assertRaises(self.module.CheckpointProblem):
            self.save(on_problem="stop")
        with self.assertRaises(ValueError):
            self.module.CheckpointCallback(on_problem="ignore")

    def test_a_check_that_fails_does_not_end_the_training(self):
        shutil.rmtree(self.output / "checkpoint-6")
        with self.assertLogs("shardscope.transformers", "WARNING"):
            self.save(on_problem="stop")


class Emitting(InFolder):
    def test_files_in_memory_are_those_of_a_run(self):
        saved = self.folder / "plan.json"
        shardscope.plan("reshard", SAMPLES / "zero2-w2", self.folder / "out", saved, world_size=3)
        run = shardscope.run_plan(saved)
        answers = []
        for file in run.plan.files:
            memory = os.memfd_create("file")
            self.addCleanup(os.close, memory)
            answer = shardscope.emit(saved, file.path, memory, digest=True)
            written = (self.folder / "out" / run.plan.target / file.path).read_bytes()
            self.assertEqual(os.pread(memory, len(written) + 1, 0), written)
            answers.append(self.folder / f"{len(answers)}.json")
            answers[-1].write_text(json.dumps(answer.raw))
        whole = shardscope.combine_emitted(saved, answers)
        self.assertEqual((whole.missing, whole.fingerprint), ([], run.result.fingerprint))
        self.assertEqual(shardscope.combine_emitted(saved, answers[1:]).missing, [run.plan.files[0].path])
        with self.assertRaises(shardscope.ShardscopeError) as raised:
            shardscope.emit(saved, "absent.pt", memory)
        self.assertEqual(raised.exception.code, "not-found")


class Serving(InFolder):
    """A server beside this process, and a client that suspects what it sends."""

    def test_answers_and_bytes(self):
        source = self.copy("zero2-w2")
        with Server() as server:
            self.assertEqual(server.answer(["inspect", str(source)])["kind"], shardscope.inspect(source).kind)
            text, data = bytearray(), bytearray()
            server.answer(["plan", "export", str(source), str(self.folder / "out"), "-o", "-"], text.extend)
            plan = server.send("plan", bytes(text))
            server.wait(plan)
            _, answer = server.wait(server.send("emit", into=data.extend, of=plan, file="model.safetensors"))
            self.assertEqual(json.loads(answer)["bytes"], len(data))
            with self.assertRaises(shardscope.ShardscopeError) as raised:
                server.wait(server.send("emit", of=plan, file="absent"))
            self.assertEqual(raised.exception.code, "not-found")
            with self.assertRaises(shardscope.ShardscopeError) as raised:
                server.answer(["inspect", str(self.folder / "absent")])
            self.assertEqual((raised.exception.code, raised.exception.exit_code), ("not-found", 3))
        (self.folder / "plan.json").write_bytes(text)
        shardscope.run_plan(self.folder / "plan.json")
        self.assertEqual(bytes(data), (self.folder / "out/model.safetensors").read_bytes())

    def test_planned_files_to_a_descriptor(self):
        source = self.copy("zero3-w4")
        text = bytearray()
        with open(self.folder / "file", "wb") as file, Server([file.fileno()]) as server:
            words = ["plan", "reshard", str(source), str(self.folder / "out"), "-w", "2", "-o", "-"]
            names = [one["path"] for one in server.answer(words, text.extend)["plan"]["files"]]
            plan = server.send("plan", bytes(text))
            server.wait(plan)
            _, answer = server.wait(server.emit(plan, names[0], file.fileno()))
        self.assertIn("sums", json.loads(answer))
        self.assertEqual(os.path.getsize(self.folder / "file"), json.loads(answer)["bytes"])

    def test_a_server_that_sends_something_else(self):
        hello = b'{"id":0,"reply":"hello","protocol":1,"version":"0"}'

        def frame(header, payload=b""):
            return struct.pack("<II", len(header), len(payload)) + header + payload

        starts = {"": "ended", frame(hello.replace(b":1", b":2")): "protocol 2", frame(b"[]"): "no JSON object",
                  struct.pack("<II", 1 << 30, 0): "too large", struct.pack("<II", 1, 1 << 30): "too large",
                  frame(b'{"id":1,"reply":"done"}'): "not asked", frame(b'{"id":[],"reply":"done"}'): "no reply",
                  frame(hello.replace(b":1", b":true")): "protocol True", frame(b"\xff{"): "no JSON object"}
        later = {b"": "ended", frame(hello): "not asked", frame(b'{"id":7,"reply":"data"}', b"x"): "not asked",
                 frame(b'{"id":1,"reply":"else"}'): "no kind", frame(b'{"id":1,"reply":"done","exit":"x"}'): "no reply",
                 frame(b'{"id":1,"reply":"error"}', b'{"schema":"shardscope/error/1"}'): "an error is none",
                 frame(b'{"id":1,"reply":"error"}', b"[" * 100000): "no JSON object", frame(b'{"id":1,"reply":"data"}', b"x")[:-1]: "ended",
                 frame(b'{"id":1,"reply":"error"}', b"{}"): "an error is none",
                 frame(b'{"id":1,"reply":"error"}', b"no"): "no JSON object"}
        cases = [(sent or b"", why) for sent, why in starts.items()]
        cases += [(frame(hello) + sent, why) for sent, why in later.items()]
        for sent, why in cases:
            with self.subTest(why=why, sent=sent):
                program = self.folder / "server"
                (self.folder / "frames").write_bytes(sent)
                program.write_text(f"#!/bin/sh\ncat '{self.folder}/frames'\nexec cat >/dev/null\n")
                program.chmod(0o755)
                with unittest.mock.patch.dict(os.environ, {"SHARDSCOPE_PROGRAM": str(program)}):
                    with self.assertRaises(shardscope.ShardscopeError) as raised:
                        with Server() as server:
                            server.wait(server.send("close", of=3))
                self.assertEqual(raised.exception.code, "internal")
                self.assertIn(why, raised.exception.message)

    def test_altered_frames(self):
        """2,000 replies with changed bytes: an error or an answer, and never another exception."""
        source = str(SAMPLES / "zero2-w2")
        sent = subprocess.run([PROGRAM, "serve"], input=b"", stdout=subprocess.PIPE, check=True).stdout
        answer = json.dumps(shardscope.inspect(source).raw).encode()
        for header, payload in ((b'{"id":1,"reply":"data"}', answer), (b'{"id":1,"reply":"done","exit":0}', b"")):
            sent += struct.pack("<II", len(header), len(payload)) + header + payload
        generator = random.Random(3)
        ends = {"answer": 0, "error": 0}
        for _ in range(2000):
            frames = bytearray(sent)
            for _ in range(generator.randrange(1, 4)):
                frames[generator.randrange(len(frames) if generator.random() < 0.3 else 140)] = generator.randrange(256)
            child = types.SimpleNamespace(stdin=io.BytesIO(), stdout=io.BytesIO(bytes(frames)), stderr=io.BytesIO(),
                                          kill=lambda: None, wait=lambda *_: 0, returncode=0)
            with unittest.mock.patch("subprocess.Popen", return_value=child):
                try:
                    Server().answer(["inspect", source])
                    ends["answer"] += 1
                except shardscope.ShardscopeError:
                    ends["error"] += 1
        self.assertGreater(min(ends.values()), 100)

    def test_a_client_that_does_not_read(self):
        words = b"".join(word.encode() + b"\0" for word in ("params", str(SAMPLES / "zero2-w2")))
        for ask, payload in (("answer", words), ("cancel", b"")):
            with subprocess.Popen([PROGRAM, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
                for number in range(250):
                    header = json.dumps({"id": number + 1, "ask": ask, "of": 1}).encode()
                    server.stdin.write(struct.pack("<II", len(header), len(payload)) + header + payload)
                server.stdin.close()
                self.assertEqual(server.wait(20), 0)

    def test_a_request_that_memory_does_not_hold(self):
        limit = 500 << 20
        with subprocess.Popen([PROGRAM, "serve", "-j", "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))) as server:
            header = b'{"id":1,"ask":"plan"}'
            with contextlib.suppress(BrokenPipeError):
                server.stdin.write(struct.pack("<II", len(header), 256 << 20) + header + bytes(256 << 20))
                server.stdin.close()
            server.stdin = None
            self.assertIn("memory", server.communicate(timeout=30)[1].decode())
        self.assertNotEqual(server.returncode, 0)

    def test_the_example_in_another_language(self):
        printed = subprocess.run(
            [sys.executable, SOURCE / "resources/examples/serve_client.py", SAMPLES / "zero2-w2", "norm.weight#exp_avg"],
            stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
        shown = shardscope.show(SAMPLES / "zero2-w2", "norm.weight#exp_avg")
        self.assertEqual(printed[0], "zero2")
        self.assertEqual([float(word) for word in printed[1].split()], shown.values)
        self.assertLessEqual(len((SOURCE / "resources/examples/serve_client.py").read_text().splitlines()), 60)
SCRIPT = """'A script.'
import atexit, json, multiprocessing, os, pickle, subprocess, sys

class Sample:
    value = 5

def module_of_load():
    import deepspeed.runtime.engine
    return deepspeed.runtime.engine.DeepSpeedEngine.load_checkpoint.__module__

def seen(sample):
    return [sample.value, type(sample).__module__, module_of_load()]

if __name__ == "__main__":
    atexit.register(lambda: print(len(pickle.dumps(Sample()))))
    started = [sys.executable, "-c", "import runpy; print(runpy.run_path('script.py')['module_of_load']())"]
    facts = {"names": [__name__, __doc__, __spec__, __file__], "argv": sys.argv, "path": sys.path[0],
             "pickled": pickle.loads(pickle.dumps(Sample())).value, "imported": "deepspeed" in sys.modules}
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        spawned = pool.apply(seen, [Sample()])
    child = subprocess.run(started, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    print(json.dumps([facts, spawned[:2], [module_of_load(), spawned[2], *child]]))
    sys.exit(7)
"""


class Running(InFolder):
    """`python -m shardscope.run` with a package in place of DeepSpeed."""

    def setUp(self):
        super().setUp()
        runtime = self.folder / "modules" / "deepspeed" / "runtime"
        runtime.mkdir(parents=True)
        (runtime.parent / "__init__.py").write_text("from .runtime import engine\n")
        (runtime / "__init__.py").touch()
        (runtime / "engine.py").write_text("class DeepSpeedEngine:\n    def load_checkpoint(self):\n        pass\n")
        (self.folder / "script.py").write_text(SCRIPT)
        (self.folder / "link").mkdir()
        (self.folder / "link" / "script.py").symlink_to("../script.py")

    def start(self, *words):
        path = os.pathsep.join([str(self.folder / "modules"), str(PACKAGE)])
        ended = subprocess.run([sys.executable, *words], cwd=self.folder, env={**os.environ, "PYTHONPATH": path},
                               stdout=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(ended.returncode, 7)
        answer, at_exit = ended.stdout.splitlines()
        return [*json.loads(answer), at_exit]

    def test_a_script_runs_as_without_it(self):
        for script in ("script.py", "link/script.py"):
            stock = self.start(script, "--a", "b")
            own = self.start("-m", "shardscope.run", script, "--a", "b")
            self.assertEqual(stock[2], ["deepspeed.runtime.engine"] * 3)
            self.assertEqual(own[2], ["shardscope.deepspeed"] * 3)  # in the processes that it starts, too
            self.assertEqual(own[:2] + own[3:], stock[:2] + stock[3:])
            self.assertFalse(own[0]["imported"])  # what the script sets before applies to DeepSpeed

    def test_a_launcher_puts_the_local_rank_first(self):
        facts = self.start("-m", "shardscope.run", "--local_rank=1", "script.py", "a")[0]
        self.assertEqual(facts["argv"], ["script.py", "--local_rank=1", "a"])

    def test_a_hidden_sitecustomize_is_imported(self):
        (self.folder / "modules" / "sitecustomize.py").write_text("print(__name__, flush=True)\n")
        path = os.pathsep.join([str(self.folder / "modules"), str(PACKAGE)])
        (self.folder / "starts.py").write_text(
            "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import deepspeed'], check=True)")
        ended = subprocess.run([sys.executable, "-m", "shardscope.run", "starts.py"], cwd=self.folder, text=True, timeout=60,
                               env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual((ended.returncode, ended.stdout), (0, "sitecustomize\n" * 2))


class Trainer:
    """In place of Transformers' own: where it looks for random states."""

    def __init__(self, index, count):
        self.args = types.SimpleNamespace(process_index=index, world_size=count)
        self.loaded = []

    def _load_rng_state(self, checkpoint):
        name = "rng_state.pth" if self.args.world_size == 1 else f"rng_state_{self.args.process_index}.pth"
        path = Path(checkpoint) / name
        self.loaded.append(path.read_bytes() if path.is_file() else None)


class RandomStates(InFolder):
    def setUp(self):
        super().setUp()
        modules = unittest.mock.patch.dict(sys.modules, {"transformers.trainer": types.SimpleNamespace(Trainer=Trainer)})
        modules.start()
        self.addCleanup(modules.stop)
        self.addCleanup(frameworks.restore)
        for name in ("rng_state_0.pth", "rng_state_1.pth"):
            (self.folder / name).write_text(name)

    def needed(self, before, rank, ranks):
        planned = ["model.pt", "../rng_state.pth" if ranks == 1 else f"../rng_state_{rank}.pth"]
        return frameworks.random_states_file(self.folder, planned, before, rank, ranks)

    def test_which_file_a_process_does_not_find(self):
        self.assertEqual(self.needed(2, 0, 3) + self.needed(2, 1, 3), [])
        self.assertEqual(self.needed(2, 0, 1), ["../rng_state.pth"])
        self.assertEqual(self.needed(1, 0, 2), ["../rng_state_0.pth"])  # what is there is another run's
        self.assertEqual(frameworks.random_states_file(self.folder, ["model.pt"], 1, 1, 2), [])

    def test_the_trainer_gets_them_once(self):
        stock = Trainer._load_rng_state
        frameworks.keep_random_states(self.folder, b"emitted")
        trainer = Trainer(0, 1)
        for checkpoint in (self.folder / "..", self.folder, self.folder):
            trainer._load_rng_state(str(checkpoint))
        self.assertEqual(trainer.loaded, [None, b"emitted", None])
        frameworks.restore()
        self.assertIs(Trainer._load_rng_state, stock)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["rng_state_0.pth", "rng_state_1.pth"])


class Words(unittest.TestCase):
    def test_options(self):
        self.assertEqual(option_words("reshard", "dry_run", True), ["--dry-run"])
        self.assertEqual(option_words("reshard", "dry_run", False), [])
        self.assertEqual(option_words("reshard", "verify", False), ["--no-verify"])
        self.assertEqual(option_words("reshard", "latest", True), [])
        self.assertEqual(option_words("reshard", "from_", Path("a")), ["--from", "a"])
        self.assertEqual(option_words("reshard", "allow", ["a", "b"]), ["--allow", "a", "--allow", "b"])
        self.assertEqual(option_words("reshard", "set", {"step": 3, "lr": 1}), ["--set", "step=3", "--set", "lr=1"])
        self.assertEqual(option_words("check", "for_", {"world-size": 6, "stage": 2}), ["--for", "world-size=6,stage=2"])
        self.assertEqual(option_words("ensure", "verify", True), ["--verify"])
        self.assertEqual(option_words("ensure", "verify", False), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-q"])
