# checks.sh — what tests written for sh begin with: . it. $work is a folder that goes with the test;
# `complain SENTENCE` says what is wrong, and the test ends with `exit $bad`.
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
bad=0
complain() {
    echo "FAIL $*"
    bad=1
}
