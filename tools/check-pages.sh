#!/bin/sh
# Checks that no line of a page is longer than 100 columns. Rows of tables, indented code, lines of
# a fenced block, and lines that are one link may be longer.
#     tools/check-pages.sh [ROOT]     exit 1 and one line for each wide line
root=${1:-$(dirname "$0")/..}
cd "$root" || exit 1
find . -name '*.md' -not -path './build*' -not -path './models/*' -not -path './.git/*' |
    LC_ALL=C sort | LC_ALL=C.UTF-8 xargs awk '
FNR == 1 { fenced = 0; n_pages++ }
/^ *```/ { fenced = !fenced; next }
fenced || /^ *\|/ || /^    / || /^ *[!]?\[[^]]*\]\([^)]*\)[.,]?$/ { next }
length($0) > 100 {
    printf "%s:%d: expected at most 100 columns, found %d\n", substr(FILENAME, 3), FNR, length($0)
    bad = 1
}
END {
    if (!n_pages) {
        print "no pages"
        exit 1
    }
    if (!bad) printf "%d pages, no wide line\n", n_pages
    exit bad
}' || exit 1
