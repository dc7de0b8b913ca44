# SPDX-License-Identifier: Apache-2.0
"""Finishes the files of a Debian package: debian_files.py PACKAGE SOURCE SHARE, where SHARE is its /usr/share.

Writes the copyright file and the changelog, and compresses manual pages, as Debian's policy asks (12.1, 12.5, 12.7). Adds
the licences of what the static program holds. An installation that is not for a package (its SHARE is not below a staging
folder of CPack) is left as it is.
"""

import email.utils
import gzip
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

MAINTAINER = "The Shardscope authors <shardscope@shardscope.org>"


def releases(source):
    """(version, date, lines) of every release, newest first."""
    text = (source / "CHANGELOG.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (\S+) \((\d{4}-\d{2}-\d{2})\)$", text, flags=re.MULTILINE)[1:]
    for version, date, body in zip(parts[::3], parts[1::3], parts[2::3]):
        entries = re.findall(r"^- (.*(?:\n  .*)*)", body, flags=re.MULTILINE)
        yield version, date, [" ".join(entry.split()) for entry in entries]


def changelog(package, source):
    out = []
    for version, date, entries in releases(source):
        when = email.utils.format_datetime(
            email.utils.parsedate_to_datetime(f"{date[8:]} {MONTHS[int(date[5:7]) - 1]} {date[:4]} 00:00:00 +0000")
        )
        out.append(f"{package} ({version}) unstable; urgency=medium\n")
        out += [textwrap.fill(entry, 78, initial_indent="  * ", subsequent_indent="    ") for entry in entries]
        out.append(f"\n -- {MAINTAINER}  {when}\n")
    return "\n".join(out)


MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()

COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Shardscope

Files: *
Copyright: 2026 The Shardscope authors
License: Apache-2.0
 On Debian systems, the full text of this licence is in
 /usr/share/common-licenses/Apache-2.0.
"""


def compress(path, data):
    with open(path, "wb") as raw:
        with gzip.GzipFile("", "wb", 9, raw, 0) as packed:
            packed.write(data)


def main(package, source, share):
    share = Path(share)
    if "_CPack_Packages" not in share.parts:
        return
    folder = share / "doc" / package
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "copyright").write_text(COPYRIGHT, encoding="utf-8")
    (folder / "LICENSE").unlink(missing_ok=True)  # the common one serves
    if (share.parent / "lib/shardscope/shardscope-static").exists():
        notices = [sys.executable, Path(__file__).with_name("notices.py"), "static"]
        (folder / "THIRD-PARTY-NOTICES").write_bytes(subprocess.check_output(notices))
    compress(folder / "changelog.gz", changelog(package, Path(source)).encode())
    for page in sorted((share / "man").rglob("*.1")):
        compress(f"{page}.gz", page.read_bytes())
        page.unlink()
    for path in [share, *share.rglob("*")]:
        os.chmod(path, 0o755 if path.is_dir() else 0o644)


main(*sys.argv[1:])
