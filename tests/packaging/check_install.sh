#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `cmake --install` puts every part in its place, and the installed program runs.
set -eu
cmake=$1
build=$2
window=$3
static=$4
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
[ "$static" != static ] || parts="$parts lib/shardscope/shardscope-static"
for part in $parts; do
    [ -s "$target/$part" ] || { echo "not installed: $part"; exit 1; }
done
# The README's links lead somewhere from where it is installed.
doc=$target/share/doc/shardscope
for link in $(grep -oE '\]\([^)#:]+' "$doc/README.md" | cut -c3- | sort -u); do
    [ -e "$doc/$link" ] || { echo "the README links $link, which is not installed"; exit 1; }
done
"$target/bin/shardscope" --version

# A host without the program gets the installed static one, and answers. A script stands in for ssh.
[ "$static" = static ] || exit 0
mkdir "$target/home"
cat >"$target/ssh" <<END
#!/bin/sh
exec env -i HOME='$target/home' PATH=/usr/bin:/bin sh -c "\$2"
END
chmod +x "$target/ssh"
SHARDSCOPE_SSH=$target/ssh "$target/bin/shardscope" tags "node7:$target/home" >"$target/answer" 2>&1 || true
grep -q 'copying' "$target/answer" || { echo "no program was copied:"; cat "$target/answer"; exit 1; }
find "$target/home" -type f -perm -u+x | grep -q shardscope || { echo "no copy is there"; exit 1; }
