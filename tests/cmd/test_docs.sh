#!/bin/sh
# Man pages render without a warning, completion scripts parse; where the tools are there.
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
bad=0
complain() {
    echo "FAIL $*"
    bad=1
}

"$FORERUN" man --dir "$work" || complain "man --dir"
pages=$(ls "$work"/*.1 | wc -l)
[ "$pages" -eq 18 ] || complain "expected 18 pages, found $pages"
if command -v groff >/dev/null; then
    for page in "$work"/*.1; do
        said=$(groff -man -Tutf8 -ww -z "$page" 2>&1)
        [ -z "$said" ] || complain "$page: $said"
    done
    groff -man -Tutf8 "$work/forerun-run.1" | grep -q 'threads' || complain "no options in run's page"
else
    echo "skip: groff is not installed"
fi
"$FORERUN" man --dir "$work/nowhere" 2>/dev/null && complain "man --dir into nowhere"

for shell in bash zsh fish; do
    "$FORERUN" completion $shell >"$work/$shell" || complain "completion $shell"
    if command -v $shell >/dev/null; then
        $shell -n "$work/$shell" || complain "$shell -n"
    else
        echo "skip: $shell is not installed"
    fi
done
if command -v bash >/dev/null; then
    words=$(bash -c '. "$1"; COMP_WORDS=(forerun run --dra); COMP_CWORD=2; _forerun; echo "${COMPREPLY[*]}"' \
        - "$work/bash")
    [ "$words" = "--drafter --draft-opt" ] || complain "bash completes --dra as: $words"
    words=$(bash -c '. "$1"; COMP_WORDS=(forerun tok); COMP_CWORD=1; _forerun; echo "${COMPREPLY[*]}"' \
        - "$work/bash")
    [ "$words" = "tokenize" ] || complain "bash completes tok as: $words"
fi
exit $bad
