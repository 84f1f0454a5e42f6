#!/bin/sh
# Checks that links of the pages to files of this tree lead somewhere, and to a heading that is there; and that
# functions and tests, as `fr_engine_open`, that pages of the papers and of folders of code name are there.
#     tools/check-links.sh [ROOT]     exit 1 and one line for each that is not
# What stands in code is no link; links to the web are not looked at. Works without git and Python.
root=${1:-$(dirname "$0")/..}
cd "$root" || exit 1
bad=$(mktemp) || exit 1
trap 'rm -f "$bad"' EXIT
pages() { find . -name '.?*' -prune -o -type d \( -name 'build*' -o -name models -o -name node_modules \) -prune -o -name '*.md' -print | LC_ALL=C sort; }

# "PAGE:LINE TARGET" of every link and image.
links() {
    LC_ALL=C awk '
FNR == 1 { fenced = 0 }
/^ *```/ { fenced = !fenced; next }
fenced || /^    / { next }
{
    gsub(/`[^`]*`/, "")
    text = $0
    while (match(text, /\]\([^() ]+\)/)) {
        print FILENAME ":" FNR " " substr(text, RSTART + 2, RLENGTH - 3)
        text = substr(text, RSTART + RLENGTH)
    }
    text = $0
    while (match(text, /(src|srcset|href)="[^" ]+/)) {
        target = substr(text, RSTART, RLENGTH)
        sub(/^[a-z]+="/, "", target)
        print FILENAME ":" FNR " " target
        text = substr(text, RSTART + RLENGTH)
    }
}' "$@"
}

# A heading as GitHub names its place.
anchors() {
    LC_ALL=C awk '
/^```/ { fenced = !fenced }
!fenced && /^#+ / {
    sub(/^#+ +/, "")
    $0 = tolower($0)
    gsub(/\]\([^)]*\)/, "")
    gsub(/[^a-z0-9 _\200-\377-]/, "")
    gsub(/ /, "-")
    print
}' "$1"
}

# "NAME PAGE:LINE" of every name with an underscore that stands in code by itself.
names() {
    LC_ALL=C awk '
{
    text = $0
    while (match(text, /`[a-z0-9]+_[a-z0-9_]+`/)) {
        print substr(text, RSTART + 1, RLENGTH - 2) " " FILENAME ":" FNR
        text = substr(text, RSTART + RLENGTH)
    }
}' "$@"
}

# Every name in the code.
words() { find src include lab tests bench -name '*.[ch]' -exec cat {} + -o -name '*.py' -exec cat {} + | LC_ALL=C grep -oE '[A-Za-z0-9_]+_[A-Za-z0-9_]+'; }

# shellcheck disable=SC2046
links $(pages) | while read -r where target; do
    page=${where%:*}
    case $target in
    *://* | mailto:*) continue ;;
    '#'*) file=$page ;;
    /*) file=.${target%%#*} ;;
    *) file=$(dirname "$page")/${target%%#*} ;;
    esac
    if [ ! -e "$file" ]; then
        echo "${where#./}: $target: there is no such file"
    else
        case $target in
        *.md'#'* | '#'*) anchors "$file" | grep -Fqx -e "${target#*#}" || echo "${where#./}: $target: there is no such heading" ;;
        esac
    fi
done >"$bad"
if [ -d src ]; then
    # shellcheck disable=SC2046
    words | LC_ALL=C awk 'NR == FNR { is[$1]; next } !($1 in is) { print $2 ": `" $1 "`: there is no such name" }' - /dev/fd/3 3<<EOF >>"$bad"
$(names $(pages | grep -E '^\./(docs/papers|src|lab)/'))
EOF
fi
cat "$bad"
[ ! -s "$bad" ]
