#!/bin/sh
# The Python package says what the program says. Its wheel is tested by tests/judges/python_wheel.sh,
# which fetches what it needs; here the package runs from a folder of its own, with the cffi that is
# installed.
set -u
skip() {
    echo "SKIP $*"
    exit 0
}
library=$FR_BUILD_DIR/libforerun.so
[ -e "$library" ] || skip "no shared library in this build"
command -v python3 >/dev/null || skip "python3 is not installed"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || skip "python3 is older than 3.10"
python3 -c 'import cffi, pycparser' 2>/dev/null || skip "cffi is not installed (Debian: python3-cffi)"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cp -R "$FR_SOURCE_DIR/python/forerun" "$FR_SOURCE_DIR/python/tests" "$work" || exit 1
PYTHONPATH=$work PYTHONDONTWRITEBYTECODE=1 XDG_CACHE_HOME=$work/cache
export PYTHONPATH PYTHONDONTWRITEBYTECODE XDG_CACHE_HOME
python3 "$FR_SOURCE_DIR/python/declare.py" "$FR_SOURCE_DIR/include/forerun.h" "$work/forerun" || exit 1
cp -L "$library" "$work/forerun/libforerun.so.0" || exit 1
cd "$work/tests" || exit 1
# Those of every day; the judge runs all.
[ $# -gt 0 ] || set -- test_header test_text test_errors test_callbacks test_threads test_requests
python3 -m unittest "$@"
