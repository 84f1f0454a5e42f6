#!/bin/sh
# No build reorders sums. Options that would are refused when the build is configured, and by the
# compiler in builds without CMake.
set -u
root=${FR_SOURCE_DIR:?}
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
failed=0
fail() {
    echo "$*" >&2
    failed=1
}

refuses() { # FLAGS: as the build's check sees them
    cmake -Dfr_math_flags="$1" -P "$root/tools/math-flags.cmake" >"$dir/log" 2>&1 && fail "configured with $1"
    grep -q "forerun fixes the order" "$dir/log" || fail "no sentence for $1"
}
for flag in -ffast-math -Ofast -ffinite-math-only -funsafe-math-optimizations -fassociative-math \
            -freciprocal-math -fno-signed-zeros -ffp-model=fast -mfpmath=387 -mfpmath=sse,387 \
            -mfpmath=both; do
    refuses "$flag"
    refuses "-O2 $flag -g"
done
cmake -Dfr_math_flags="-O3 -march=native -fno-fast-math -ffp-contract=fast -fno-math-errno" \
    -P "$root/tools/math-flags.cmake" || fail "refused flags that change no sum"

# The build runs that check on flags of the environment.
CFLAGS=-Ofast cmake -S "$root" -B "$dir/build" >"$dir/log" 2>&1 && fail "configured with CFLAGS=-Ofast"
grep -q "Ofast: forerun fixes the order" "$dir/log" || fail "no sentence: $(cat "$dir/log")"

compiles() { # FLAGS...
    echo '#include "kern/kern.h"' | "${CC:-cc}" -std=gnu11 -fsyntax-only -I "$root/src" -I "$root/include" "$@" -x c - 2>"$dir/log"
}
compiles || fail "kern.h: $(cat "$dir/log")"
for flag in -ffast-math -Ofast -ffinite-math-only; do
    compiles "$flag" && fail "compiled with $flag"
    grep -q "order of every sum" "$dir/log" || fail "no sentence for $flag: $(cat "$dir/log")"
done
exit $failed
