#!/bin/sh
# The page at "/" in a browser: answers, stopping, editing, keys, and text that would like to be a script.
command -v python3 >/dev/null || {
    echo "SKIP python3 is not installed"
    exit 0
}
folder=$(mktemp -d "$PWD/page_XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
here=$FR_SOURCE_DIR/tests/serve/page
folder=$folder here=$here python3 -B "$here/page_test.py"
