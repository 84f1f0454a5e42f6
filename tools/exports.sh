#!/bin/sh
# The functions that a header declares, one a line, sorted; `--map NODE` writes a linker's version
# script in which they are all that a shared library shows.
#     tools/exports.sh [--map NODE] HEADER
set -eu
node=
if [ "${1:-}" = --map ]; then
    node=$2
    shift 2
fi
# Comments go, declarations are joined, and the name before the first bracket is taken; those of
# function types stand behind a typedef.
names=$(sed -e 's|//.*||' -e '/^[[:space:]]*#/d' "$1" | tr '\n' ' ' | tr ';{}' '\n\n\n' |
    sed -n -e '/typedef/d' -e 's/^[^(]*\(fr_[a-z0-9_]*\)(.*/\1/p' | LC_ALL=C sort)
if [ -z "$node" ]; then
    echo "$names"
    exit
fi
printf '%s {\nglobal:\n' "$node"
for name in $names; do
    printf '    %s;\n' "$name"
done
printf 'local:\n    *;\n};\n'
