#!/bin/sh
# The examples, compiled from an installed tree by nothing but its pkg-config file, say what the
# program says.
. "$(dirname "$0")/../support/checks.sh"
skip() {
    echo "SKIP $*"
    exit $bad
}

[ -e "$FR_BUILD_DIR/libforerun.so" ] || skip "no shared library in this build"
command -v cmake >/dev/null && command -v pkg-config >/dev/null || skip "cmake or pkg-config is missing"
for component in program library development; do
    cmake --install "$FR_BUILD_DIR" --prefix "$work/tree" --component $component >"$work/log" 2>&1 || {
        cat "$work/log"
        complain "cmake --install"
        exit 1
    }
done
pc=$(find "$work/tree" -name forerun.pc)
lib=$(dirname "$(dirname "$pc")")
PKG_CONFIG_PATH=$(dirname "$pc") LD_LIBRARY_PATH=$lib
export PKG_CONFIG_PATH LD_LIBRARY_PATH
version=$(sed -n 's/^#define FR_VERSION "\(.*\)"/\1/p' "$work/tree/include/forerun.h")
[ "$(pkg-config --modversion forerun)" = "$version" ] || complain "version of forerun.pc"
[ "$("$work/tree/bin/forerun" --version)" = "forerun $version" ] || complain "version of forerun"

examples="complete chat many_users logprobs"
cp "$FR_SOURCE_DIR"/examples/* "$work"
cd "$work" || exit 1
built=
for compiler in gcc clang g++; do
    command -v $compiler >/dev/null || {
        echo "SKIP $compiler is not installed"
        continue
    }
    built="$built $compiler"
    case $compiler in *++) language="-x c++" ;; *) language= ;; esac
    for e in $examples; do
        # shellcheck disable=SC2046,SC2086
        $compiler $language $e.c -x none $(pkg-config --cflags --libs forerun) -o $e.$compiler ||
            complain "$compiler $e.c"
    done
done
[ "$built" ] || skip "no compiler"
first=${built# }
first=${first%% *}
# shellcheck disable=SC2046
$first complete.c $(pkg-config --cflags forerun) "$lib/libforerun.a" \
    $(pkg-config --static --libs forerun) -o complete.static || complain "static library"
# shellcheck disable=SC2046
$first complete.c $(pkg-config --cflags forerun) -Wl,-Bstatic -lforerun -L"$lib" -Wl,-Bdynamic \
    $(pkg-config --static --libs forerun | sed 's/-lforerun//') -o complete.static2 ||
    complain "static library by name"

model=${FR_MODELS:-$FR_SOURCE_DIR/models}/smollm2-135m.gguf
[ -e "$model" ] || skip "$model is not there: compiled, not run"
run() {
    "$FORERUN" run -m "$model" --drafter none --temp 0 --quiet "$@"
}
same() { # what expected found
    [ "$2" = "$3" ] && return
    complain "$1 says something else:"
    printf '%s\n--- and not\n%s\n' "$3" "$2"
}

text="Once upon a time, in a village by the sea,"
question="Name three rivers."
other="Why is the sky blue?"
completed=$(run --raw -p "$text" -n 64)
answered=$(run -p "$question" -n 256)
short=$(run -p "$question" -n 64)
short_other=$(run -p "$other" -n 64)
[ ${#completed} -gt 40 ] || complain "forerun run says too little"
for compiler in $built; do
    same "complete.$compiler" "$completed" "$(./complete.$compiler "$model" "$text")"
    same "chat.$compiler" "$answered" "$(echo "$question" | ./chat.$compiler "$model")"
    same "many_users.$compiler" "$(printf '%s\n%s\n%s\n%s\n' "$question" "$short" "$other" "$short_other")" \
        "$(./many_users.$compiler "$model" "$question" "$other")"
    # Greedy: the token said is the likeliest, which is the first of its list.
    ./logprobs.$compiler "$model" "$text" >likely || complain "logprobs.$compiler"
    [ "$(wc -l <likely)" = 8 ] && awk -F '\t' 'NF != 5 || $2 != $3 { exit 1 }' likely || {
        complain "logprobs.$compiler"
        cat likely
    }
done
same complete.static "$completed" "$(./complete.static "$model" "$text")"
same complete.static2 "$completed" "$(env -u LD_LIBRARY_PATH ./complete.static2 "$model" "$text")"
if command -v python3 >/dev/null; then
    same complete.py "$completed" "$(python3 -B complete.py "$model" "$text")"
    same chat.py "$answered" "$(echo "$question" | python3 -B chat.py "$model")"
    # A second line goes on with the conversation: as chat.c has it, so has chat.py.
    same "chat.py, two lines" "$(printf '%s\n%s\n' "$question" "$other" | ./chat.$first "$model")" \
        "$(printf '%s\n%s\n' "$question" "$other" | python3 -B chat.py "$model")"
else
    echo "SKIP python3 is not installed"
fi
./complete.$first no-such-file.gguf x 2>why && complain "complete without a model"
grep -q 'no-such-file.gguf' why || complain "complete gives no sentence"
[ $bad = 0 ] && echo "compiled and compared:$built"
exit $bad
