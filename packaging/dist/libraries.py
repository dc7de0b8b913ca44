# SPDX-License-Identifier: Apache-2.0
"""The libraries inside a program without shared libraries: Debian packages, and what they are for."""

import subprocess

# Debian's package → (name of the project, SPDX licence, which programs hold it)
LIBRARIES = {
    "libc6-dev": ("glibc", "LGPL-2.1-or-later", ("static",)),
    "libstdc++-12-dev": ("libstdc++", "GPL-3.0-or-later WITH GCC-exception-3.1", ("static", "gui")),
    "zlib1g-dev": ("zlib", "Zlib", ("static", "gui")),
    "libdeflate-dev": ("libdeflate", "MIT", ("static", "gui")),
    "libxxhash-dev": ("xxHash", "BSD-2-Clause", ("static", "gui")),
    "libssl-dev": ("OpenSSL", "Apache-2.0", ("static", "gui")),
    "libre2-dev": ("RE2", "BSD-3-Clause", ("static", "gui")),
    "libzstd-dev": ("Zstandard", "BSD-3-Clause", ("static", "gui")),
    "libfmt-dev": ("fmt", "MIT", ("static", "gui")),
    "libspdlog-dev": ("spdlog", "MIT", ("static", "gui")),
    "libcli11-dev": ("CLI11", "BSD-3-Clause", ("static", "gui")),
    "nlohmann-json3-dev": ("JSON for Modern C++", "MIT", ("static", "gui")),
    "libexpected-dev": ("tl::expected", "CC0-1.0", ("static", "gui")),
}


def libraries_of(program):
    return {package: entry for package, entry in LIBRARIES.items() if program in entry[2]}


def version_of(package):
    text = subprocess.check_output(["dpkg-query", "-W", "-f", "${Version}", package], text=True)
    return text.strip()
