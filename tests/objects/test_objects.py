# SPDX-License-Identifier: Apache-2.0
"""Checkpoints in an object store, read by the built program: test_objects.py PROGRAM SOURCE."""

import filecmp
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import store

PROGRAM, SOURCE = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
KEYS = ("AKTESTTESTTEST", "geheim/+geheim=")
SAMPLES = ["zero2-w2", "zero3-w4", "zero2-universal-w2", "stage0-pipeline-bf16-w4"]


def parameters_of(run):
    answer = json.loads(subprocess.check_output([PROGRAM, "params", run, "--json"]))
    return [each["name"] for each in answer["parameters"]]


class Objects(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="shardscope-objects-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.root = cls.folder / "store"
        cls.local = cls.folder / "runs"
        for sample in SAMPLES:
            shutil.copytree(SOURCE / "tests/data/samples" / sample, cls.local / sample)
        for file in cls.local.rglob("*"):  # stores have no finer times
            os.utime(file, (int(file.stat().st_mtime),) * 2)
        shutil.copytree(cls.local, cls.root / "test-bucket/runs")
        cls.store = store.Store(cls.root, KEYS)
        cls.addClassCleanup(cls.store.end)
        cls.there = "s3://test-bucket/runs"
        (cls.folder / "home").mkdir()

    def run_program(self, *words, status=0, variables=None):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        given = self.store.variables() if variables is None else variables
        environment = {**kept, "HOME": str(self.folder / "home"), **given}
        done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, status, f"{words}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        self.assertNotIn("geheim", done.stdout + done.stderr)
        return done

    def error_of(self, *words, status, variables=None):
        return json.loads(self.run_program(*words, "--json", status=status, variables=variables).stdout)

    def assert_same_answer(self, verb, path, *words, status=0):
        def answer(base):
            text = self.run_program(verb, f"{base}/{path}", *words, "--json", status=status).stdout
            out = json.loads(text.replace(str(base), "BASE"))
            for result in out.get("results", []):
                result.pop("seconds", None)
            return out

        self.assertEqual(answer(self.local), answer(self.there), f"{verb} {path} {words}")

    def test_answers_are_those_of_the_same_files_here(self):
        for sample in SAMPLES:
            name = parameters_of(self.local / sample)[0]
            for verb, *words in (
                ["inspect"],
                ["params"],
                ["layout"],
                ["files"],
                ["tags"],
                ["stats"],
                ["show", name],
                ["fingerprint"],
            ):
                with self.subTest(sample=sample, verb=verb):
                    self.assert_same_answer(verb, sample, *words)
            for depth in ("headers", "metadata", "bytes"):
                with self.subTest(sample=sample, depth=depth):
                    words = [PROGRAM, "check", self.local / sample, "--depth", depth]
                    local = subprocess.run(words, stdout=subprocess.DEVNULL)
                    self.assert_same_answer("check", sample, "--depth", depth, status=local.returncode)
            with self.subTest(sample=sample, verb="verify"):
                self.assert_same_answer("verify", sample)

    def test_levels_of_a_path(self):
        tag = "zero2-w2/global_step3"
        for path in (tag, tag + "/", f"{tag}/mp_rank_00_model_states.pt", "zero2-w2/"):
            with self.subTest(path=path):
                self.assert_same_answer("inspect", path)
        self.assert_same_answer("tags", "")

    def test_diff(self):
        here, there = self.local / "zero2-w2", f"{self.there}/zero2-w2"
        for left, right in ((here, there), (there, here), (there, there)):
            self.run_program("diff", left, right)
        self.run_program("diff", f"{there}/global_step3", there, status=1)

    def test_rewritten_checkpoints_have_the_same_bytes(self):
        jobs = (
            ("reshard", "zero2-w2", "--world-size", "3"),
            ("reshard", "zero3-w4", "--world-size", "2", "--stage", "2"),
            ("reshard", "zero2-universal-w2", "--world-size", "4"),
            ("convert", "zero3-w4", "--to", "universal"),
            ("export", "zero3-w4", "--format", "safetensors"),
            ("export", "zero2-w2", "--format", "torch"),
        )
        for number, (verb, sample, *words) in enumerate(jobs):
            with self.subTest(verb=verb, sample=sample):
                here, there = (self.folder / f"{side}-{number}" for side in ("here", "there"))
                self.run_program(verb, self.local / sample, here, *words)
                self.run_program(verb, f"{self.there}/{sample}", there, *words)
                self.assert_same_bytes(here, there)

    def assert_same_bytes(self, left, right):
        files = [sorted(p.relative_to(side) for p in side.rglob("*") if p.is_file()) for side in (left, right)]
        self.assertTrue(files[0])
        self.assertEqual(files[0], files[1])
        for file in files[0]:
            self.assertTrue(filecmp.cmp(left / file, right / file, shallow=False), file)

    def test_plans_that_are_saved(self):
        plan, target = self.folder / "plan.json", self.folder / "planned"
        there = f"{self.there}/zero2-w2"
        self.run_program("plan", "reshard", there, target, "--world-size", "3", "-o", plan)
        self.run_program("run", plan)
        self.run_program("verify", target, "--against", there)

    def test_keys_of_a_profile(self):
        credentials = self.folder / "credentials"
        credentials.write_text(
            f"[lab]\naws_access_key_id = {KEYS[0]}\naws_secret_access_key = {KEYS[1]}\n"
        )
        named = {"AWS_ENDPOINT_URL_S3": self.store.url, "AWS_SHARED_CREDENTIALS_FILE": str(credentials)}
        self.run_program("inspect", f"{self.there}/zero2-w2", variables={**named, "AWS_PROFILE": "lab"})
        error = self.error_of(
            "inspect", f"{self.there}/zero2-w2", variables={**named, "AWS_PROFILE": "other"}, status=2
        )
        self.assertIn("other", error["message"])

    def test_wrong_keys_are_refused(self):
        for name, says in (("AWS_SECRET_ACCESS_KEY", "SignatureDoesNotMatch"), ("AWS_ACCESS_KEY_ID", "")):
            error = self.error_of(
                "inspect", f"{self.there}/zero2-w2", variables={**self.store.variables(), name: "AKWRONGWRONG"}, status=3
            )
            self.assertEqual(error["code"], "unreadable")
            self.assertIn(says, error["message"])
            self.assertNotIn("AKWRONGWRONG", json.dumps(error))

    def test_what_is_public_is_read_unsigned_and_nothing_else(self):
        public = store.Store(self.root)
        self.addCleanup(public.end)
        read = self.run_program("fingerprint", f"{self.there}/zero2-w2", "--json", variables=public.variables())
        here = self.run_program("fingerprint", self.local / "zero2-w2", "--json")
        self.assertEqual(*(json.loads(each.stdout)["fingerprint"] for each in (read, here)))
        closed = {"AWS_ENDPOINT_URL": self.store.url}
        error = self.error_of("inspect", f"{self.there}/zero2-w2", variables=closed, status=3)
        self.assertEqual(error["code"], "unreadable")
        self.assertIn("AWS_PROFILE", error["hint"])

    def test_certificates_are_checked(self):
        files = [self.folder / "own.pem", self.folder / "own.key"]
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"]
            + ["-addext", "subjectAltName=IP:127.0.0.1", "-out", files[0], "-keyout", files[1]],
            check=True,
            capture_output=True,
        )
        safe = store.Store(self.root, KEYS, files)
        self.addCleanup(safe.end)
        error = self.error_of("inspect", f"{self.there}/zero2-w2", variables=safe.variables(), status=3)
        self.assertIn("certificate", error["message"])
        trusting = {**safe.variables(), "AWS_CA_BUNDLE": str(files[0])}
        self.run_program("inspect", f"{self.there}/zero2-w2", variables=trusting)

    def test_what_is_not_there(self):
        error = self.error_of("inspect", "s3://no-such-bucket-here/run", status=3)
        self.assertEqual((error["code"], error["message"]), ("not-found", "there is no such bucket"))
        error = self.error_of("inspect", f"{self.there}/zero2-w3", status=3)
        self.assertEqual(error["code"], "not-found")
        self.assertEqual(error["path"], f"{self.there}/zero2-w3")
        for path in ("s3://", "s3://x/../y", "s3:///runs"):
            self.assertEqual(self.error_of("inspect", path, status=2)["code"], "usage")
        closed = {**self.store.variables(), "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
        error = self.error_of("inspect", f"{self.there}/zero2-w2", variables=closed, status=3)
        self.assertIn("cannot be reached", error["message"])

    def test_a_changed_object_is_an_error(self):
        """A job that was interrupted goes on only from the objects that it began with."""
        there, plan = "s3://test-bucket/changing", self.folder / "changing.json"
        changing = self.root / "test-bucket/changing"
        shutil.copytree(SOURCE / "tests/data/samples/zero2-w2", changing)
        target = self.folder / "from-changing"
        self.run_program("plan", "reshard", there, target, "--world-size", "3", "-o", plan)
        file = changing / "global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"
        data = bytearray(file.read_bytes())
        data[-100] ^= 1
        file.write_bytes(data)
        self.run_program("run", plan, status=6)

    def test_what_needs_a_file_system_is_refused(self):
        run = f"{self.there}/zero2-w2"
        local = self.local / "zero2-w2"
        for words in (
            ("reshard", local, f"{self.there}/out", "--world-size", "3"),
            ("reshard", run, f"{self.there}/out", "--world-size", "3"),
            ("export", local, f"{self.there}/out"),
            ("convert", local, f"{self.there}/out", "--to", "universal"),
            ("repair", local, f"{self.there}/out", "--fix", "all"),
            ("clean", run),
            ("ensure", run, "--world-size", "3"),
            ("ensure", local, "--world-size", "3", "--into", f"{self.there}/out"),
            ("skeleton", local, f"{self.there}/out.zip"),
            ("run", f"{self.there}/plan.json"),
            ("check", local, "--html", f"{self.there}/report.html"),
            ("fingerprint", run, "--mpi"),
            ("reshard", run, "node7:/out", "--world-size", "3"),
        ):
            with self.subTest(words=words):
                error = self.error_of(*words, status=4)
                self.assertEqual(error["code"], "unsupported")
        self.assertFalse((self.root / "test-bucket/runs/out").exists())

    def test_a_skeleton_and_its_files(self):
        skeleton = self.local / "zero2-w2.zip"
        self.run_program("skeleton", self.local / "zero2-w2", skeleton)
        shutil.copy2(skeleton, self.root / "test-bucket/runs")
        for path in ("zero2-w2.zip", "zero2-w2.zip/run/global_step6"):
            self.assert_same_answer("layout", path)
        taken = self.folder / "taken.zip"
        self.run_program("skeleton", f"{self.there}/zero3-w4", taken)
        self.run_program("inspect", taken)

    def test_the_log_counts_requests(self):
        log = self.folder / "log"
        self.run_program("check", f"{self.there}/zero3-w4", "--depth", "headers", "--log-file", log, "--verbose")
        self.assertRegex(log.read_text(), r"object store: \d+ requests")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
