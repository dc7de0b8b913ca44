#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The man page names every option that any command's --help names, and no other option.
set -eu
program=$1
page=$2/packaging/man/shardscope.1

long_options() {
    grep -oE -e '--[a-z][a-z0-9-]+' | sort -u
}

# A command is known by its .BI line; the word after the macro.
commands=$(sed -n 's/^\.BI "\([a-z]*\).*/\1/p' "$page" | sort -u)
[ -n "$commands" ] || { echo "no command found in $page"; exit 1; }
help_texts=$("$program" --help)
for command in $commands; do
    help_texts="$help_texts
$("$program" "$command" --help)"
    if [ "$command" = plan ]; then
        help_texts="$help_texts
$("$program" plan reshard --help)"
    fi
done
for command in inspect params layout files show verify reshard plan run completion; do
    echo "$commands" | grep -qx "$command" || { echo "the man page lacks the command $command"; exit 1; }
done

echo "$help_texts" | long_options >help_options.$$
sed 's/\\-/-/g' "$page" | long_options >man_options.$$
status=0
diff help_options.$$ man_options.$$ || { echo "(<: only in --help, >: only in the man page)"; status=1; }
rm -f help_options.$$ man_options.$$
exit $status
