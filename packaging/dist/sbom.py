# SPDX-License-Identifier: Apache-2.0
"""Prints a software bill of materials (CycloneDX 1.5): sbom.py static|gui VERSION."""

import json
import sys

from libraries import libraries_of, version_of


def component(package, name, licence):
    version = version_of(package)
    return {
        "type": "library",
        "name": name,
        "version": version,
        "licenses": [{"expression": licence}],
        "purl": f"pkg:deb/debian/{package.replace('+', '%2B')}@{version.replace(':', '%3A').replace('+', '%2B')}",
    }


def main(program, version):
    out = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "name": "shardscope",
                "version": version,
                "licenses": [{"expression": "Apache-2.0"}],
            }
        },
        "components": [
            component(package, name, licence) for package, (name, licence, _) in libraries_of(program).items()
        ],
    }
    print(json.dumps(out, indent=2))


main(*sys.argv[1:])
