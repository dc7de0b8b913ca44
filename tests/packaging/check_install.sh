#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `cmake --install` puts every part in its place, and the installed program runs.
set -eu
cmake=$1
build=$2
window=$3
target=$(mktemp -d)
trap 'rm -rf "$target"' EXIT
"$cmake" --install "$build" --prefix "$target" >/dev/null
parts="bin/shardscope share/man/man1/shardscope.1 share/bash-completion/completions/shardscope
  share/zsh/site-functions/_shardscope share/fish/vendor_completions.d/shardscope.fish share/doc/shardscope/LICENSE
  share/doc/shardscope/README.md share/doc/shardscope/resources/manual/support.md
  share/doc/shardscope/resources/images/window.png share/doc/shardscope/resources/examples/trainer.py
  share/shardscope/schemas/inspect.json"
if [ "$window" = window ]; then
    id=org.shardscope.Shardscope
    parts="$parts bin/shardscope-gui share/man/man1/shardscope-gui.1 share/applications/$id.desktop
      share/metainfo/$id.metainfo.xml share/mime/packages/$id.xml share/icons/hicolor/scalable/apps/$id.svg"
fi
for part in $parts; do
    [ -s "$target/$part" ] || { echo "not installed: $part"; exit 1; }
done
# The README's links lead somewhere from where it is installed.
doc=$target/share/doc/shardscope
for link in $(grep -oE '\]\([^)#:]+' "$doc/README.md" | cut -c3- | sort -u); do
    [ -e "$doc/$link" ] || { echo "the README links $link, which is not installed"; exit 1; }
done
"$target/bin/shardscope" --version
