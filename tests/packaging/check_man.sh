#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The man pages render without a warning: check_man.sh GROFF PAGE...
set -eu
groff=$1
shift
status=0
for page in "$@"; do
    warnings=$("$groff" -t -man -K utf8 -Tutf8 -ww -z "$page" 2>&1)
    if [ -n "$warnings" ]; then
        printf '%s\n%s\n' "$page:" "$warnings"
        status=1
    fi
done
exit $status
