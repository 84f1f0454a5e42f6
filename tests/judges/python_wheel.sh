#!/bin/sh
# Installs build-wheel/dist/forerun-*.whl as a user does, into a fresh virtual environment outside of
# this repository, and runs all tests of the package over it:
#     FR_MODELS=models tests/judges/python_wheel.sh [TEST...]
# pip fetches cffi and mypy. What the program says is asked of build/forerun.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
wheel=$(ls "$root"/build-wheel/dist/forerun-*.whl 2>/dev/null) || {
    echo "python_wheel: there is no wheel: run make wheel" >&2
    exit 1
}
FR_MODELS=$(cd "${FR_MODELS:-$root/models}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "$wheel" -r "$root/python/requirements-test.txt"
cp -R "$root/python/tests" "$work"
FR_SOURCE_DIR=$root FORERUN=$root/build/forerun XDG_CACHE_HOME=$work/cache PYTHONDONTWRITEBYTECODE=1
export FR_MODELS FR_SOURCE_DIR FORERUN XDG_CACHE_HOME PYTHONDONTWRITEBYTECODE
cd "$work/tests"
"$work/venv/bin/python" -c 'import forerun, sys; print("forerun", forerun.__version__, "in", sys.prefix)'
if [ $# -gt 0 ]; then
    "$work/venv/bin/python" -m unittest -v "$@"
else
    "$work/venv/bin/python" -m unittest discover -v
fi
