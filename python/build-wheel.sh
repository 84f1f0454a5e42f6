#!/bin/sh
# Makes build-wheel/dist/forerun-*.whl out of build/libforerun.so, which `make build` makes:
#     python/build-wheel.sh [LIBRARY]
#
# The package is put together in build-wheel/source, with declarations made of forerun.h, and
# auditwheel puts in the libraries that not every Linux has (PCRE2, SQLite, Jansson) and says for
# which Linux the wheel is. Same sources and packages, same bytes. Tools come from PyPI into
# build-wheel/venv.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
library=${1:-$root/build/libforerun.so}
work=$root/build-wheel
source=$work/source
fail() {
    echo "build-wheel: $*" >&2
    exit 1
}

[ -e "$library" ] || fail "$library is missing: run make build"
command -v python3 >/dev/null || fail "python3 is missing"
python=$work/venv/bin/python
if ! cmp -s "$root/python/requirements-build.txt" "$work/venv/requirements.txt"; then
    rm -rf "$work/venv"
    python3 -m venv "$work/venv" || fail "python3 -m venv failed: is python3-venv installed?"
    "$python" -m pip install --quiet --disable-pip-version-check -r "$root/python/requirements-build.txt" ||
        fail "pip could not install the tools"
    cp "$root/python/requirements-build.txt" "$work/venv/requirements.txt"
fi

rm -rf "$source" "$work/plain" "$work/dist"
mkdir -p "$source/licenses"
cp -R "$root/python/forerun" "$root/python/pyproject.toml" "$root/python/setup.py" "$root/python/README.md" "$source"
find "$source" -name __pycache__ -exec rm -rf {} +
"$python" -B "$root/python/declare.py" "$root/include/forerun.h" "$source/forerun"

# Of debug information and the build's identifier nothing is left: they name the folder of the build.
cp -L "$library" "$source/forerun/libforerun.so.0"
strip --strip-unneeded --remove-section=.note.gnu.build-id --remove-section=.comment "$source/forerun/libforerun.so.0"

cp "$root/LICENSE" "$root/THIRD_PARTY.md" "$source/licenses"
for package in libpcre2-8-0 libsqlite3-0 libjansson4; do
    terms=/usr/share/doc/$package/copyright
    [ -e "$terms" ] || fail "$terms is missing: the licence of a library that the wheel brings along"
    cp "$terms" "$source/licenses/$package.txt"
done

# The date of what is packed is the last commit's.
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 1700000000)
PYTHONDONTWRITEBYTECODE=1 PATH=$work/venv/bin:$PATH
export SOURCE_DATE_EPOCH PYTHONDONTWRITEBYTECODE PATH
chmod -R u=rwX,go=rX "$source"
"$python" -m build --wheel --no-isolation --outdir "$work/plain" "$source" >"$work/build.log" 2>&1 || {
    cat "$work/build.log" >&2
    fail "python -m build failed"
}
"$python" -m auditwheel repair --wheel-dir "$work/dist" "$work"/plain/*.whl >"$work/auditwheel.log" 2>&1 || {
    cat "$work/auditwheel.log" >&2
    fail "auditwheel failed"
}
ls "$work"/dist/*.whl
