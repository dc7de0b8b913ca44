# SPDX-License-Identifier: Apache-2.0
"""Starts the window of Shardscope on the Qt of PySide6-Essentials."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, NoReturn

__all__ = ["install_desktop", "main"]

_HERE = Path(__file__).resolve().parent
_PROGRAM = _HERE / "bin" / "shardscope-gui"
_ID = "org.shardscope.Shardscope"


def _qt() -> Path:
    """The folder of Qt in PySide6-Essentials. Exits with a message if it is not installed."""
    found = importlib.util.find_spec("PySide6")
    folders = [Path(folder) / "Qt" for folder in (found.submodule_search_locations or ())] if found else []
    for folder in folders:
        if (folder / "lib").is_dir():
            return folder
    sys.exit("shardscope-gui: PySide6-Essentials is not installed for this Python; try: pip install PySide6-Essentials")


def _environment(qt: Path) -> Dict[str, str]:
    out = dict(os.environ)
    others = out.get("LD_LIBRARY_PATH")
    out["LD_LIBRARY_PATH"] = f"{qt / 'lib'}:{others}" if others else str(qt / "lib")
    out["QT_PLUGIN_PATH"] = str(qt / "plugins")
    return out


def install_desktop() -> List[Path]:
    """Adds the window to the user's applications: desktop entry, icon and file type. Returns the files."""
    share = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share")
    starter = shutil.which("shardscope-gui") or str(Path(sys.executable).with_name("shardscope-gui"))
    entry = (_HERE / "share" / f"{_ID}.desktop").read_text(encoding="utf-8")
    quoted = starter.replace("\\", "\\\\").replace('"', '\\"').replace("`", "\\`").replace("$", "\\$")
    entry = entry.replace("Exec=shardscope-gui %F", f'Exec="{quoted}" %F')
    targets = {
        share / "applications" / f"{_ID}.desktop": entry.encode(),
        share / "icons/hicolor/scalable/apps" / f"{_ID}.svg": (_HERE / "share" / f"{_ID}.svg").read_bytes(),
        share / "mime/packages" / f"{_ID}.xml": (_HERE / "share" / f"{_ID}.xml").read_bytes(),
    }
    for path, data in targets.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    for tool, folder in (("update-mime-database", share / "mime"), ("update-desktop-database", share / "applications")):
        found = shutil.which(tool)
        if found:
            subprocess.run([found, str(folder)], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return list(targets)


def main() -> NoReturn:
    if sys.argv[1:] == ["--install-desktop"]:
        for path in install_desktop():
            print(path)
        sys.exit(0)
    environment = _environment(_qt())
    os.execve(_PROGRAM, ["shardscope-gui", *sys.argv[1:]], environment)
