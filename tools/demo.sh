#!/bin/sh
# Shows what forerun is for: a prompt answered with drafting, then plainly; both speeds; equal bytes.
#     tools/demo.sh [MODEL]
set -u
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
forerun=${FORERUN:-$root/build/forerun}
model=${1:-${FR_MODELS:-$root/models}/smollm2-135m.gguf}
drafter=prompt-lookup
n=160

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
# An answer that repeats much of its prompt is where looking up the prompt shines.
cat >"$work/prompt" <<'END'
Repeat this text exactly, word for word:

The lighthouse keeper climbed the one hundred and twelve steps every evening. He carried a can of oil in his left hand and a small brass lamp in his right hand. At the top he cleaned the glass, filled the tank, and lit the flame. Then he sat down beside the window, opened his notebook, and wrote down the wind, the waves, and the name of every ship that passed.
END

colour=--color
[ -t 1 ] && [ -z "${NO_COLOR:-}" ] && colour=--color=always
echo "== $(basename "$model"), drafter $drafter: coloured tokens were drafted, plain ones were not"
show() { "$forerun" run -m "$model" -f "$work/prompt" -n $n --drafter $drafter $colour; }
if [ -t 1 ]; then
    show || exit 1
else # nothing ends the text's last line there, so the statistics wait for it
    show 2>"$work/said"
    status=$?
    echo
    cat "$work/said" >&2
    [ $status -eq 0 ] || exit 1
fi
echo
echo "== the same prompt twice more: drafted, and one token a pass"
for mode in $drafter none; do
    "$forerun" run -m "$model" -f "$work/prompt" -n $n --drafter "$mode" --quiet --json \
        >"$work/$mode.json" || exit 1
    tr -d '\n' <"$work/$mode.json" >"$work/$mode.line"
    # The answer's ids and its text, as they stand in the document.
    {
        sed -n 's/.*"tokens": *\(\[[^]]*\]\).*/\1/p' "$work/$mode.line" | tr -d ' '
        echo
        sed -n 's/.*"text": *\("\([^"\\]\|\\.\)*"\).*/\1/p' "$work/$mode.line"
        echo
    } >"$work/$mode.answer"
done
LC_ALL=C # a decimal point
export LC_ALL
number() { sed -n "s/.*[^a-z_\\\\]\"$2\": *\([0-9.]*\).*/\1/p" "$work/$1.line"; }
fast=$(number $drafter tok_s) plain=$(number none tok_s)
for mode in $drafter none; do
    printf '%-14s %8.1f tokens/s   %5.2f tokens a pass\n' \
        "$mode" "$(number "$mode" tok_s)" "$(number "$mode" tokens_per_pass)"
done
awk -v a="$fast" -v b="$plain" 'BEGIN { if (b > 0) printf "%.2f times as fast\n", a / b }'
if [ "$(grep -c . "$work/none.answer")" = 2 ] && cmp -s "$work/none.answer" "$work/$drafter.answer"; then
    echo "the bytes are equal ($(number none completion_tokens) tokens)"
else
    echo "the bytes DIFFER: please report this" >&2
    exit 1
fi
