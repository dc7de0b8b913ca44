# SPDX-License-Identifier: Apache-2.0
"""The wheel with what `cmake --install` installs: test_wheel.py CMAKE BUILD SOURCE. Standard library only."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CMAKE, BUILD, SOURCE = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()
SAMPLES = SOURCE / "tests/data/samples"


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        installed = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, installed)
        cls.tree = Path(installed)
        subprocess.run([CMAKE, "--install", str(BUILD), "--component", "cli", "--prefix", installed], check=True,
                       stdout=subprocess.DEVNULL)
        cls.program = cls.tree / "bin/shardscope"
        # A build may have no window. What is in its program does not matter here.
        shutil.copy(cls.program, cls.tree / "bin/shardscope-gui")
        name = "org.shardscope.Shardscope"
        for source, place in ((f"packaging/linux/{name}.desktop", "applications"), (f"packaging/linux/{name}.xml", "mime/packages"),
                              (f"resources/icons/{name}.svg", "icons/hicolor/scalable/apps")):
            (cls.tree / "share" / place).mkdir(parents=True)
            shutil.copy(SOURCE / source, cls.tree / "share" / place)

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def build(self, name, package="shardscope"):
        (self.folder / name).mkdir()
        subprocess.run(
            [sys.executable, str(SOURCE / "packaging/python/build_wheel.py"), package, str(self.tree), "linux_x86_64",
             str(self.folder / name)],
            check=True, stdout=subprocess.DEVNULL,
        )
        (wheel,) = (self.folder / name).glob("*.whl")
        return wheel

    def test_two_builds_have_equal_bytes(self):
        first, second = self.build("one"), self.build("two")
        self.assertEqual(first.name, second.name)
        self.assertEqual(first.read_bytes(), second.read_bytes())

    def test_it_installs_and_runs(self):
        wheel = self.build("wheel")
        venv = self.folder / "venv"
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        environment = {key: value for key, value in os.environ.items() if key not in ("SHARDSCOPE_PROGRAM", "PYTHONPATH")}

        def run(*words):
            done = subprocess.run(words, env=environment, cwd=self.folder, capture_output=True, text=True, check=True)
            return done.stdout

        run(str(venv / "bin/pip"), "install", "-q", "--no-index", str(wheel))
        version = json.loads(run(str(self.program), "--version", "--json"))["version"]
        self.assertEqual(wheel.name.split("-")[1], version)
        self.assertIn(version, run(str(venv / "bin/shardscope"), "--version"))
        self.assertIn(version, run(str(venv / "bin/python"), "-m", "shardscope", "--version"))
        code = f"import shardscope; print(shardscope.find_program(), shardscope.inspect({str(SAMPLES / 'zero2-w2')!r}).kind)"
        program, kind = run(str(venv / "bin/python"), "-c", code).split()
        self.assertTrue(program.startswith(str(venv.resolve())), program)
        self.assertEqual(kind, "zero2")
        self.assertIn("shardscope", run(str(venv / "bin/pip"), "show", "-f", "shardscope"))
        share = {str(path.relative_to(venv)) for path in (venv / "share").rglob("*") if path.is_file()}
        for name in ("man/man1/shardscope.1", "bash-completion/completions/shardscope", "zsh/site-functions/_shardscope",
                     "fish/vendor_completions.d/shardscope.fish", "shardscope/schemas/inspect.json",
                     "doc/shardscope/resources/examples/trainer.py", "doc/shardscope/resources/manual/trainer.md"):
            self.assertIn(f"share/{name}", share)
            self.assertTrue((venv / "share" / name).stat().st_size, name)
        run(str(venv / "bin/pip"), "uninstall", "-q", "-y", "shardscope")
        self.assertFalse((venv / "bin/shardscope").exists())
        self.assertFalse((venv / "share/man/man1/shardscope.1").exists())

    def test_the_wheel_of_the_window(self):
        wheel = self.build("gui", "shardscope-gui")
        venv, share = self.folder / "venv", self.folder / "share"
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        subprocess.run([str(venv / "bin/pip"), "install", "-q", "--no-index", "--no-deps", str(wheel)], check=True)
        starter = str(venv / "bin/shardscope-gui")
        done = subprocess.run([starter], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("pip install PySide6-Essentials", done.stderr)
        environment = {**os.environ, "XDG_DATA_HOME": str(share), "PATH": f"{venv}/bin:{os.environ['PATH']}"}
        done = subprocess.run([starter, "--install-desktop"], env=environment, capture_output=True, text=True, check=True)
        written = done.stdout.split()
        self.assertEqual(len(written), 3)
        for path in written:
            self.assertTrue(Path(path).stat().st_size, path)
        entry = (share / "applications/org.shardscope.Shardscope.desktop").read_text(encoding="utf-8")
        self.assertIn(f'Exec="{starter}" %F\n', entry)
        if shutil.which("desktop-file-validate"):
            subprocess.run(["desktop-file-validate", str(share / "applications/org.shardscope.Shardscope.desktop")], check=True)
        # With PySide6-Essentials, its libraries and plugins are used.
        (qt := venv / "fake/PySide6/Qt/lib").mkdir(parents=True)
        (venv / "fake/PySide6/__init__.py").touch()
        done = subprocess.run([starter, "--version"], env={**os.environ, "PYTHONPATH": str(venv / "fake")}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(qt.is_dir())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-q"])
