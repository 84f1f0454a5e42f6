#!/bin/sh
# One training by two processes (FR_MPI) gives the curve of one that accumulates their batches, goes on
# after an interrupt, and one process' error ends both. The program is built for it, where MPI is.
. "$(dirname "$0")/../../support/checks.sh"
skip() {
    echo "SKIP $*"
    exit 0
}
for tool in cmake ninja mpicc mpirun; do
    command -v $tool >/dev/null || skip "$tool is not installed"
done
case $(sed -n 's/^FR_SANITIZE:[A-Z]*=//p' "$FR_BUILD_DIR/CMakeCache.txt") in '' | OFF) ;; *) skip "MPI under a sanitizer" ;; esac

cmake -S "$FR_SOURCE_DIR" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DFR_MPI=ON >"$work/log" 2>&1 &&
    cmake --build "$work/build" --target forerun >>"$work/log" 2>&1 || {
    tail -n 40 "$work/log"
    complain "no build with FR_MPI"
    exit 1
}
"$FR_BUILD_DIR/tests/bin/tiny_models" "$work" >/dev/null 2>&1 || exit 1
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
cd "$work" || exit 1
python3 - >talk.jsonl <<'END'
import json
for i in range(80):
    said = " ".join("word%d" % (i * k % 13) for k in range(20))
    print(json.dumps({"messages": [{"role": "user", "content": said[:30]}, {"role": "assistant", "content": said}]}))
END
program=$work/build/forerun
train="train medusa -m tiny-llama-q8_0.gguf -t 1 --vocab 320 --batch-rows 64 --held-out 8 --judgements 3 --lr 0.01 --quiet"
two() { mpirun --oversubscribe -n 2 "$program" "$@"; }

# shellcheck disable=SC2086
{
    "$program" $train --data talk.jsonl --given --steps 6 --accumulate 2 --json -o one.gguf >one.json || complain "one process"
    two $train --data talk.jsonl --given --steps 6 --json -o two.gguf >two.json || complain "two processes"
}
python3 - <<'END' || complain "two processes do not learn what one does"
import json
one, two = (json.load(open(name)) for name in ("one.json", "two.json"))
assert (one["processes"], two["processes"]) == (1, 2)
assert one["tokens"] == two["tokens"] and one["data"] == two["data"], (one, two)
right, found = ([point["held_out_loss"] for point in d["curve"]] for d in (one, two))
assert len(right) >= 2 and right[-1] < right[0] and all(abs(a - b) < 1e-4 for a, b in zip(right, found)), (right, found)
END

# shellcheck disable=SC2086
two $train --data two.gguf.data --steps 3000 --checkpoint-every 0.1 -o long.gguf >/dev/null 2>&1 &
child=$!
while [ ! -s long.gguf.ckpt ] && kill -0 $child 2>/dev/null; do
    sleep 0.1
done
kill -INT $child
wait $child
[ -s long.gguf.ckpt ] || complain "an interrupt left no checkpoint"
# shellcheck disable=SC2086
two $train --data two.gguf.data --steps 3000 --json -o long.gguf --resume >long.json || complain "it does not go on"
grep -q '"steps": *3000,' long.json || complain "$(cut -c1-300 long.json)"

# shellcheck disable=SC2086
mpirun --oversubscribe -n 1 "$program" $train --data two.gguf.data --steps 1000000 -o bad.gguf : \
    -n 1 "$program" $train --data two.gguf.data,not-there --steps 1000000 -o bad.gguf 2>err && complain "data that one lacks"
grep -q "not-there: No such file" err || complain "$(cat err)"
exit $bad
