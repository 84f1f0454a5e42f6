#!/bin/sh
# The page's modules without a browser (document.mjs stands for one) and without a model: what they keep, send and tell.
command -v node >/dev/null || {
    echo "SKIP node is not installed"
    exit 0
}
folder=$(mktemp -d "$PWD/modules_XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
node "$FR_SOURCE_DIR/tests/serve/page/modules.mjs" "$FR_SOURCE_DIR/src/serve/page" "$folder"
