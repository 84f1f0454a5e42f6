#!/bin/sh
# forerun-lab knows what forerun knows and more; what is more, forerun does not know.
set -u
bad=0
complain() {
    echo "FAIL $*"
    bad=1
}
drafters() {
    "$1" run --help-drafters | sed -n 's/^  \([a-z][a-z-]*\)[^a-z-].*/\1/p'
}
trained() {
    "$1" train nobody -m x --data x -o x --steps 1 2>&1 | sed -n 's/.*is trained: //p' | tr -d ,
}
commands() {
    "$1" --help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p'
}

# $1: what they are; $2: a function that lists them.
compare() {
    own=" $($2 "$FORERUN" | tr '\n' ' ') "
    lab=" $($2 "$FORERUN_LAB" | tr '\n' ' ') "
    more=0
    for name in $own; do
        case $lab in *" $name "*) ;; *) complain "forerun-lab lacks the $1 $name" ;; esac
    done
    for name in $lab; do
        case $own in *" $name "*) continue ;; esac
        more=$((more + 1))
        case $1 in
            drafter) line="run -m x -p x --drafter $name" ;;
            learner) line="train $name -m x --data x -o x --steps 1" ;;
            command) line=$name ;;
        esac
        "$FORERUN" $line 2>/dev/null
        [ $? -eq 2 ] || complain "forerun $line: expected exit code 2"
    done
    [ "$more" -gt 0 ] || complain "forerun-lab has no $1 of its own"
}
compare drafter drafters
compare learner trained
compare command commands
exit $bad
