#!/bin/sh
# Says which C files clang-format would lay out otherwise (exit 1 if any); --fix rewrites them.
cd "$(dirname "$0")/.." || exit 1
if ! command -v clang-format >/dev/null 2>&1; then
    echo "format: clang-format is missing (Debian package clang-format)" >&2
    exit 0
fi
files=$(git ls-files '*.c' '*.h')
if [ "${1:-}" = --fix ]; then
    echo "$files" | xargs clang-format -i
    exit
fi
status=0
for file in $files; do
    clang-format "$file" | cmp -s - "$file" || {
        echo "format: $file"
        status=1
    }
done
exit $status
