#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every shell script parses, and what is called directly can be executed.
set -eu
cd "$1"
for script in packaging/*.sh tests/packaging/*.sh .ci/run; do
    sh -n "$script" 2>/dev/null || bash -n "$script"
done
for program in packaging/setup.sh packaging/run.sh packaging/test.sh packaging/dist.sh .ci/run tests/packaging/try_in_debian.sh tests/interop/run.py; do
    [ -x "$program" ] || { echo "$program cannot be executed"; exit 1; }
done
