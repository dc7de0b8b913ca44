#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The man pages render without a warning.
set -eu
groff=$1
cd "$2/packaging/man"
status=0
for page in *.1; do
    warnings=$("$groff" -t -man -Tutf8 -ww -z "$page" 2>&1)
    if [ -n "$warnings" ]; then
        printf '%s\n%s\n' "$page:" "$warnings"
        status=1
    fi
done
exit $status
