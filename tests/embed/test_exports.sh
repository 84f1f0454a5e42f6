#!/bin/sh
# The shared library shows the functions that the compiler finds declared in forerun.h: nothing more,
# nothing less. The header compiles alone, as C11 and as C++17.
. "$(dirname "$0")/../support/checks.sh"
header=$FR_SOURCE_DIR/include/forerun.h
library=$FR_BUILD_DIR/libforerun.so

strict="-Wall -Wextra -Wpedantic -Wconversion -Werror -fsyntax-only"
tried=0
while read -r compiler language standard; do
    command -v "$compiler" >/dev/null || {
        echo "SKIP $compiler is not installed"
        continue
    }
    tried=$((tried + 1))
    $compiler -x "$language" -std="$standard" $strict "$header" || complain "$compiler $standard"
done <<END
gcc c c11
clang c c11
g++ c++ c++17
clang++ c++ c++17
END
[ $tried -gt 0 ] || complain "no compiler"

[ -e "$library" ] || {
    echo "SKIP no shared library in this build"
    exit $bad
}
readelf -d "$library" | grep -q 'SONAME.*\[libforerun\.so\.0\]' || complain "soname"
nm -D --defined-only "$library" | sed -n 's/^.* T \([^@]*\).*/\1/p' | LC_ALL=C sort >"$work/shown"
nm -D --defined-only "$library" | grep -v ' T ' | grep -v ' A FORERUN_0$' &&
    complain "the library shows more than functions"
if command -v gcc >/dev/null; then
    # Every prototype that gcc has seen, with the file that it stands in.
    gcc -std=c11 -fsyntax-only -x c -aux-info "$work/seen" "$header"
    sed -n 's|^/\* [^ ]*/include/forerun\.h:[^*]*\*/ extern [^(]*[ *]\(fr_[a-z0-9_]*\) (.*|\1|p' "$work/seen" |
        LC_ALL=C sort >"$work/declared"
    [ -s "$work/declared" ] || complain "gcc found no declaration"
    diff "$work/declared" "$work/shown" || complain "declared (<) and shown (>) differ"
    sh "$FR_SOURCE_DIR/tools/exports.sh" "$header" | diff "$work/declared" - ||
        complain "tools/exports.sh reads the header otherwise than gcc"
else
    echo "SKIP gcc is not installed: what is shown was not compared"
fi
[ $bad = 0 ] && echo "$(wc -l <"$work/shown") functions, $tried compilers"
exit $bad
