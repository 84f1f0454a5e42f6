#!/bin/sh
# Man pages render without a warning, completion scripts parse; where the tools are there.
. "$(dirname "$0")/../../support/checks.sh"

"$FORERUN" man --dir "$work" || complain "man --dir"
pages=$(ls "$work"/*.1 | wc -l)
[ "$pages" -eq 20 ] || complain "expected 20 pages, found $pages"
if command -v groff >/dev/null; then
    for page in "$work"/*.1; do
        said=$(groff -man -Tutf8 -ww -z "$page" 2>&1)
        [ -z "$said" ] || complain "$page: $said"
    done
    groff -man -Tutf8 "$work/forerun-run.1" | grep -q 'threads' || complain "no options in run's page"
else
    echo "SKIP groff is not installed"
fi
"$FORERUN" man --dir "$work/nowhere" 2>/dev/null && complain "man --dir into nowhere"

for shell in bash zsh fish; do
    "$FORERUN" completion $shell >"$work/$shell" || complain "completion $shell"
    if command -v $shell >/dev/null; then
        $shell -n "$work/$shell" || complain "$shell -n"
    else
        echo "SKIP $shell is not installed"
    fi
done

# The drafters, as the program lists them, and those that it trains, as it says.
drafters=$("$FORERUN" run --help-drafters | sed -n 's/^  \([a-z][a-z-]*\)[^a-z-].*/\1/p')
trained=$("$FORERUN" train nobody -m x --data x -o x --steps 1 2>&1 | sed -n 's/.*is trained: //p' | tr -d ,)
echo "$drafters" | grep -qx early-exit || complain "run --help-drafters lists: $drafters"
case " $trained " in *" early-exit "*) ;; *) complain "train nobody says: $trained" ;; esac
"$FORERUN" train --help >"$work/train"
for name in $trained; do
    grep -q "^  $name " "$work/train" || complain "train --help does not list $name"
    roff=$(echo "$name" | sed 's/-/\\\\-/g')
    grep -q "^.B $roff\$" "$work/forerun-train.1" || complain "train's page does not list $name"
    grep -q "_forerun_is train' .* $name " "$work/fish" || complain "fish: train $name"
    sed -n '/^_forerun_train_words/,/^}/p' "$work/zsh" | grep -q "'$name:" || complain "zsh: train $name"
done
for name in $drafters; do
    sed -n '/^function __forerun_spec/,/^end/p' "$work/fish" | grep -q "$name" || complain "fish: --drafter $name"
    sed -n '/^_forerun_spec/,/^}/p' "$work/zsh" | grep -q "'$name[:\\]" || complain "zsh: --drafter $name"
done

# What bash makes of a line as it cuts it: at spaces, and at ':' and '=' apart.
completed() {
    bash -c '. "$1"; cd "$2"; shift 2; compopt() { :; }
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _forerun; echo "${COMPREPLY[*]}"' - "$work/bash" "$work/in" forerun "$@"
}
expect() { # WANTED WORD...
    wanted=$1
    shift
    found=$(completed "$@")
    [ "$found" = "$wanted" ] || complain "bash completes '$*' as '$found', not as '$wanted'"
}
mkdir "$work/in"
: >"$work/in/a.gguf"
: >"$work/in/a+b.gguf"
if command -v bash >/dev/null; then
    expect "--drafter --draft-opt" run --dra
    expect tokenize tok
    expect early-exit train early
    expect bash completion b
    expect scalar run --isa sc
    expect scalar run --isa = sc
    expect "auto always" run --color = a
    expect "--color" run --colo
    expect "" run --color aut # not without '='
    expect "exact rejection typical" run --accept ''
    expect chatml run --chat-template chatm
    expect "$(echo $drafters | sed 's/rest/rest:/; s/draft-model/draft-model:/')" run --drafter ''
    expect "eagle early-exit" tune --drafter = e
    expect rest: run --drafter re
    expect prompt-lookup+medusa run --drafter prompt-lookup+me
    expect none,eagle bench --drafters none,eag
    expect "a+b.gguf a.gguf" run --drafter rest :
    expect a.gguf run --drafter rest : a.
    expect a+b.gguf run --drafter rest : a+b
    expect a.gguf+medusa run --drafter rest : a.gguf+me
    : >"$work/in/my notes.txt" # one name, of two words
    expect "my notes.txt" run -f my
    expect "my notes.txt" run -f "my n"
    expect "my notes.txt" inspect my
    [ "$(bash -c '. "$1"; cd "$2"; compopt() { :; }; COMP_WORDS=(forerun run -f my); COMP_CWORD=3
        _forerun; echo "${#COMPREPLY[@]}"' - "$work/bash" "$work/in")" = 1 ] || complain "bash cuts a name at its space"
    # Names of models are what the program of that name says.
    mkdir -p "$work/home/.lmstudio/models/org/repo" "$work/bin"
    : >"$work/home/.lmstudio/models/org/repo/m-Q4_0.gguf"
    mkdir -p "$work/home/.lmstudio/models/org/\$(touch evil)"
    : >"$work/home/.lmstudio/models/org/\$(touch evil)/m-Q4_0.gguf"
    ln -s "$FORERUN" "$work/bin/forerun"
    named=$(HOME=$work/home XDG_CACHE_HOME='' HF_HUB_CACHE='' PATH=$work/bin:$PATH completed run -m org)
    [ "$named" = 'org/$(touch evil):Q4_0 org/repo:Q4_0' ] || complain "bash completes 'run -m org' as '$named'"
    [ ! -e "$work/in/evil" ] || complain "bash runs what a model is called"
    named=$(HOME=$work/home XDG_CACHE_HOME='' HF_HUB_CACHE='' PATH=$work/bin:$PATH completed run -m org/repo : Q)
    [ "$named" = Q4_0 ] || complain "bash completes 'run -m org/repo:Q' as '$named'"
    expect "a+b.gguf a.gguf" run -m a
    for name in $trained; do
        case " $(completed train '') " in *" $name "*) ;; *) complain "bash: train $name" ;; esac
    done
fi
if command -v fish >/dev/null; then
    found=$(fish -c 'source $argv[1]; complete -C "forerun run --drafter prompt-lookup+me"' "$work/fish")
    case $found in prompt-lookup+medusa*) ;; *) complain "fish completes prompt-lookup+me as: $found" ;; esac
fi
exit $bad
