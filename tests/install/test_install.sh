#!/bin/sh
# What `make install` and `make uninstall` do, in a DESTDIR: the files are there and say where they will
# lie, the program finds its packs without a flag, programs are compiled with forerun.pc alone, and what
# is removed is what was installed.
. "$(dirname "$0")/../support/checks.sh"
[ -e "$FR_BUILD_DIR/libforerun.so" ] || {
    echo "SKIP no shared library in this build"
    exit 0
}
prefix="/opt/the prefix"
stage=$work/stage
tree=$stage$prefix
DESTDIR=$stage cmake --install "$FR_BUILD_DIR" --prefix "$prefix" >"$work/log" 2>&1 || {
    cat "$work/log"
    complain "cmake --install"
    exit 1
}
cp "$FR_BUILD_DIR/install_manifest.txt" "$work/list" # as make install does

# --- the files -------------------------------------------------------------------------------------
find "$stage" ! -type d | sed "s|^$stage||" | LC_ALL=C sort >"$work/there"
for file in LICENSE THIRD_PARTY.md; do
    cmp "$FR_SOURCE_DIR/$file" "$tree/share/doc/forerun/$file" || complain "$file"
done
grep -v "^$prefix/" "$work/there" && complain "files outside the prefix"
lib=$(dirname "$(find "$tree" -name libforerun.a)")
version=$(sed -n 's/^#define FR_VERSION "\(.*\)"/\1/p' "$FR_SOURCE_DIR/include/forerun.h")
must() {
    [ -s "$1" ] || complain "$1 is missing"
}
for file in bin/forerun include/forerun.h lib/systemd/system/forerun.service \
    share/man/man1/forerun.1 share/man/man1/forerun-serve.1 share/bash-completion/completions/forerun \
    share/zsh/site-functions/_forerun share/fish/vendor_completions.d/forerun.fish; do
    must "$tree/$file"
done
for file in libforerun.a libforerun.so libforerun.so.0 "libforerun.so.$version" pkgconfig/forerun.pc; do
    must "$lib/$file"
done
packs=0
for pack in "$FR_SOURCE_DIR"/packs/*.gguf; do
    packs=$((packs + 1))
    cmp "$pack" "$tree/share/forerun/packs/${pack##*/}" || complain "${pack##*/}"
done
[ $packs -gt 0 ] || complain "no packs in the source tree"
for example in "$FR_SOURCE_DIR"/examples/*.*; do
    cmp "$example" "$tree/share/doc/forerun/examples/${example##*/}" || complain "${example##*/}"
done
unit=$tree/lib/systemd/system/forerun.service
# shellcheck disable=SC2016
grep -Fxq "ExecStart=\"$prefix/bin/forerun\" serve -m "'${FORERUN_MODEL} $FORERUN_FLAGS' "$unit" || complain "$unit"
grep '@fr_' "$unit" "$lib/pkgconfig/forerun.pc" && complain "a template has holes"

# --- packs -----------------------------------------------------------------------------------------
mkdir "$work/empty"
alone() { # the installed program, with no packs here or at home
    (cd "$work/empty" && HOME=$work/empty XDG_DATA_HOME='' "$tree/bin/forerun" "$@")
}
alone doctor --json >"$work/doctor" || complain "doctor"
grep -q "\"path\": *\"$tree/share/forerun/packs\", *\"found\": *true, *\"packs\": *$packs}" "$work/doctor" ||
    { complain "doctor finds no packs" && cat "$work/doctor"; }
# The library's own place, for programs elsewhere: what the build was configured with.
configured=$(sed -n 's/^CMAKE_INSTALL_PREFIX:[A-Z]*=//p' "$FR_BUILD_DIR/CMakeCache.txt")
grep -q "\"$(realpath -m "$configured/share/forerun/packs")\"" "$work/doctor" ||
    complain "doctor does not look into $configured/share/forerun/packs"
model=${FR_MODELS:-$FR_SOURCE_DIR/models}/smollm2-135m.gguf
if [ -e "$model" ]; then
    ln -s "$model" "$work/empty/model.gguf" # beside it there are no packs
    alone doctor --json -m "$work/empty/model.gguf" | grep -o '"path": *"[^"]*-eagle.gguf"' | head -n 1 >"$work/eagle"
    grep -q "\"$tree/share/forerun/packs/smollm2-135m-eagle.gguf\"" "$work/eagle" || complain "the eagle is not found"
    "$FORERUN" run -m "$model" --drafter none --temp 0 --quiet -n 32 -p "Name three rivers." >"$work/plain"
    alone run -m "$work/empty/model.gguf" --drafter eagle --temp 0 --quiet -n 32 -p "Name three rivers." \
        >"$work/drafted" || complain "run --drafter eagle"
    [ -s "$work/plain" ] || complain "an empty answer"
    cmp "$work/plain" "$work/drafted" || complain "other bytes with the eagle"
else
    echo "SKIP $model is not there: packs were found, not run"
fi

# --- pkg-config ------------------------------------------------------------------------------------
pc() {
    PKG_CONFIG_PATH=$lib/pkgconfig pkg-config "$@" forerun
}
[ "$(pc --variable=prefix)" = "$prefix" ] || complain "prefix of forerun.pc"
[ "$(pc --variable=libdir)" = "${lib#"$stage"}" ] || complain "libdir of forerun.pc"
[ "$(pc --variable=includedir)" = "$prefix/include" ] || complain "includedir of forerun.pc"
[ "$(pc --modversion)" = "$version" ] || complain "version of forerun.pc"
if command -v cc >/dev/null; then
    # In a Makefile or a script: the shell reads what pkg-config prints.
    eval "cc '$tree/share/doc/forerun/examples/complete.c' \
        $(PKG_CONFIG_SYSROOT_DIR=$stage pc --cflags --libs) -o '$work/complete'" || complain "complete.c"
    LD_LIBRARY_PATH=$lib "$work/complete" no-such-file.gguf x 2>"$work/why"
    grep -q 'no-such-file.gguf' "$work/why" || complain "complete gives no sentence"
else
    echo "SKIP no compiler"
fi

# --- uninstalling ------------------------------------------------------------------------------------
LC_ALL=C sort "$work/list" | diff - "$work/there" || complain "installed (<) and there (>) differ"
echo own >"$tree/share/forerun/packs/own.gguf"
sh "$FR_SOURCE_DIR/tools/uninstall.sh" "$work/list" "$stage" || complain "uninstall.sh"
find "$stage" ! -type d | sed "s|^$tree/||" >"$work/left"
[ "$(cat "$work/left")" = share/forerun/packs/own.gguf ] || { complain "left:" && cat "$work/left"; }
[ -d "$tree/share/doc/forerun" ] && complain "share/doc/forerun is left"
[ -d "$tree/share/doc" ] || complain "share/doc was not ours to remove"
sh "$FR_SOURCE_DIR/tools/uninstall.sh" "$work/no-such-list" 2>/dev/null && complain "uninstalling what was not installed"
[ $bad = 0 ] && echo "installed, used and removed: $(wc -l <"$work/list") files, $packs packs"
exit $bad
