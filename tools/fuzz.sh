#!/bin/sh
# Runs every fuzzer of a build for some seconds, one after the other.
#     tools/fuzz.sh BUILD SECONDS      exit 1 when one of them found something
# What it finds new stays in BUILD/found/<name>/; an input that breaks something in BUILD/broken/.
set -u
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
build=$1
seconds=$2
status=0
mkdir -p "$build/broken"
none=1
for fuzzer in "$build"/fuzz/fuzz_*; do
    [ -x "$fuzzer" ] || continue
    name=${fuzzer##*/fuzz_}
    none=
    mkdir -p "$build/found/$name"
    echo "fuzz: $name, $seconds s" >&2
    "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -verbosity=0 -artifact_prefix="$build/broken/$name-" \
        "$build/found/$name" "$root/tests/fuzz/corpus/$name" || status=1
done
[ -z "$none" ] || {
    echo "fuzz: $build/fuzz has no fuzzers" >&2
    exit 1
}
[ $status -eq 0 ] && echo "fuzz: nothing found" >&2
exit $status
