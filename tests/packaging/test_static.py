# SPDX-License-Identifier: Apache-2.0
"""The static program, and calls that a kernel does not have: test_static.py STATIC PROGRAM SOURCE Static|OldKernel.

Standard library only. Exits with 77 if OldKernel cannot look, because this system has no filters for system calls.
"""

import ctypes
import errno
import filecmp
import json
import os
import platform
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

STATIC, PROGRAM, SOURCE = (Path(word).resolve() for word in sys.argv[1:4])
CANNOT_LOOK = 77
SAMPLES = SOURCE / "tests/data/samples"
PROGRAM_HEADER_INTERPRETER, PROGRAM_HEADER_DYNAMIC = 3, 2
# Numbers of system calls, by machine (asm/unistd_64.h, asm-generic/unistd.h).
CALLS = {
    "x86_64": {"renameat2": 316, "copy_file_range": 326, "statx": 332, "io_uring_setup": 425},
    "aarch64": {"renameat2": 276, "copy_file_range": 285, "statx": 291, "io_uring_setup": 425},
}


def without(*names):
    """A function for the child: these system calls answer ENOSYS, as in a kernel that does not have them."""
    numbers = [CALLS[platform.machine()][name] for name in names]
    load, equal, answer = 0x20, 0x15, 0x06  # BPF: load a word, jump if equal, return (linux/bpf_common.h)
    allow, error = 0x7FFF0000, 0x00050000 | errno.ENOSYS  # linux/seccomp.h
    rules = [(load, 0, 0, 0)]
    for number in numbers:
        rules += [(equal, 0, 1, number), (answer, 0, 0, error)]
    rules.append((answer, 0, 0, allow))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(rules), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)

    def apply():
        no_new_privileges, seccomp, filter_mode = 38, 22, 2  # linux/prctl.h, linux/seccomp.h
        if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(seccomp, filter_mode, program, 0, 0):
            raise OSError(ctypes.get_errno(), "seccomp")

    apply.keep = code
    return apply


def run(program, *words, before=None, status=0):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, preexec_fn=before)
    if done.returncode != status:
        raise AssertionError(f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def header_types(program):
    """The types of the program headers of an ELF file (elf.h, Elf64_Phdr)."""
    data = program.read_bytes()
    (offset,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    return {struct.unpack_from("<I", data, offset + i * size)[0] for i in range(count)}


def same_files(test, one, other):
    names = sorted(str(path.relative_to(one)) for path in one.rglob("*") if path.is_file())
    test.assertEqual(names, sorted(str(path.relative_to(other)) for path in other.rglob("*") if path.is_file()))
    values = [name for name in names if not name.endswith("shardscope.json")]  # a manifest has times
    test.assertTrue(values)
    _, unlike, unread = filecmp.cmpfiles(one, other, values, shallow=False)
    test.assertEqual((unlike, unread), ([], []))


class Static(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def test_it_needs_no_shared_library(self):
        types = header_types(STATIC)
        self.assertNotIn(PROGRAM_HEADER_INTERPRETER, types)
        self.assertNotIn(PROGRAM_HEADER_DYNAMIC, types)
        self.assertIn(PROGRAM_HEADER_INTERPRETER, header_types(PROGRAM))

    def test_it_says_why_no_module_loads(self):
        version = json.loads(run(STATIC, "--version", "--json").stdout)
        self.assertIs(version["static"], True)
        for module in version["modules"]:
            self.assertIs(module["usable"], False)
            self.assertIn("static program", module["why_not"])
        done = run(STATIC, "stats", SAMPLES / "zero2-w2", "--device", "cuda", status=4)
        self.assertIn("static program", done.stderr)

    def test_it_says_why_it_reads_no_object_store(self):
        done = run(STATIC, "inspect", "s3://bucket/run", status=4)
        self.assertIn("static program", done.stderr)

    def test_it_writes_in_parts(self):
        whole, parts = self.folder / "whole", self.folder / "parts"
        words = ["reshard", SAMPLES / "zero2-w2", parts, "--world-size", "3"]
        for part in ("1/2", "0/2"):
            run(STATIC, *words, "--part", part)
        run(STATIC, *words, "--finish")
        run(PROGRAM, "reshard", SAMPLES / "zero2-w2", whole, "--world-size", "3")
        same_files(self, whole, parts)
        done = run(STATIC, "--mpi", *words, status=4)
        self.assertIn("static program", done.stderr)

    def test_its_answers_are_those_of_the_other_program(self):
        samples = [path for path in sorted(SAMPLES.iterdir()) if path.is_dir()]
        self.assertGreater(len(samples), 30)
        for sample in samples:
            for verb in ("inspect", "params", "layout"):
                answers = [
                    subprocess.run([program, verb, sample, "--json"], capture_output=True)
                    for program in (STATIC, PROGRAM)
                ]
                self.assertEqual(answers[0].returncode, answers[1].returncode, (verb, sample))
                self.assertEqual(answers[0].stdout, answers[1].stdout, (verb, sample))

    def test_it_writes_what_the_other_program_writes(self):
        for words in (("reshard", SAMPLES / "zero3-w4", "--world-size", "3"), ("convert", SAMPLES / "zero2-w2", "--to", "universal")):
            targets = []
            for name, program in (("static", STATIC), ("program", PROGRAM)):
                targets.append(self.folder / f"{words[0]}-{name}")
                run(program, words[0], words[1], targets[-1], *words[2:])
            same_files(self, *targets)


class OldKernel(unittest.TestCase):
    """Every call that is newer than Linux 3.10 may be missing."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.old = without("renameat2", "copy_file_range", "statx", "io_uring_setup")
        if platform.machine() == "aarch64":  # which has no other call to rename with, and began with Linux 3.7
            self.old = without("copy_file_range", "statx", "io_uring_setup")

    def test_the_filter_works(self):
        code = "import ctypes, errno, sys; c = ctypes.CDLL(None, use_errno=True); " + (
            f"c.syscall({CALLS[platform.machine()]['statx']}, 0, 0, 0, 0, 0); "
            "sys.exit(ctypes.get_errno() != errno.ENOSYS)"
        )
        run(sys.executable, "-c", code, before=self.old)

    def test_writing_needs_no_new_call(self):
        for program in (STATIC, PROGRAM):
            folder = self.folder / program.name
            for name, before in (("new", None), ("old", self.old)):
                sample = SAMPLES / "zero2-w2"
                run(program, "reshard", sample, folder / name / "w3", "--world-size", "3", before=before)
                run(program, "export", sample, folder / name / "weights", "--format", "npy", before=before)
                run(program, "verify", folder / name / "w3", before=before)
                run(program, "verify", folder / name / "weights", before=before)
            same_files(self, folder / "new", folder / "old")

    def test_a_single_file_is_written_and_never_replaced(self):
        plan = self.folder / "plan.json"
        words = ("plan", "reshard", SAMPLES / "zero2-w2", self.folder / "w3", "--world-size", "3", "-o", plan)
        run(STATIC, *words, before=self.old)
        text = plan.read_bytes()
        self.assertIn("the file exists", run(STATIC, *words, before=self.old, status=5).stderr)
        self.assertEqual([plan], list(self.folder.iterdir()))
        self.assertEqual(text, plan.read_bytes())

    def test_an_existing_target_is_never_lost(self):
        target = self.folder / "w3"
        run(STATIC, "reshard", SAMPLES / "zero2-w2", target, "--world-size", "3")
        again = ("reshard", SAMPLES / "zero2-w2", target, "--world-size", "5")
        self.assertIn("exists already", run(STATIC, *again, before=self.old, status=5).stderr)
        # Replacing it in one step needs renameat2: without, the user decides.
        self.assertIn("cannot swap", run(STATIC, *again, "--force", before=self.old, status=5).stderr)
        run(STATIC, "verify", target)
        self.assertIn("3 ranks", run(STATIC, "inspect", target).stdout)


def can_filter():
    try:
        subprocess.run(["true"], preexec_fn=without("io_uring_setup"), check=True)
    except subprocess.SubprocessError:
        return False
    return True


if __name__ == "__main__":
    if sys.argv[4] == "OldKernel" and not can_filter():
        print("this system has no filters for system calls")
        sys.exit(CANNOT_LOOK)
    unittest.main(argv=[sys.argv[0], "-q", sys.argv[4]])
