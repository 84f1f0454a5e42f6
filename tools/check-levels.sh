#!/bin/sh
# Checks that dependencies go one way: a source folder includes only folders with a lower number.
# Siblings (equal numbers) must not include each other. include/forerun.h is for everyone.
#     tools/check-levels.sh [ROOT]     exit 1 and one line for each wrong include
root=${1:-$(dirname "$0")/..}
cd "$root/src" || exit 1
find . -name '*.[ch]' | LC_ALL=C sort | xargs awk '
BEGIN {
    split("base 1 kern 2 gguf 3 tree 4 model 5 text 5 decode 6 draft 7 engine 8 json 8.5 " \
          "serve 9 train 9 tune 7.5 cmd 10", pair, " ")
    for (i = 1; i in pair; i += 2) level[pair[i]] = pair[i + 1]
    # Libraries that stay with the parts that need them, and the lowest level that may.
    least["jansson.h"] = 8.5; least["microhttpd.h"] = 9; least["mpi.h"] = 9; least["dnnl.h"] = 9; least["zlib.h"] = 9
    least["lmdb.h"] = 7; least["histedit.h"] = 10; least["editline/readline.h"] = 10
}
function fault(why) {
    printf "src/%s:%d: %s\n", substr(FILENAME, 3), FNR, why
    bad = 1
}
FNR == 1 {
    n_files++
    split(FILENAME, part, "/")
    own = part[2]
    if (!(own in level)) fault("folder src/" own " has no level (tools/check-levels.sh)")
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\"")
    name = quoted[2]
    if (name == "forerun.h" || name !~ "/") next # a bare name lies beside its includer
    split(name, part, "/")
    if (!(part[1] in level)) fault("includes \"" name "\", which is in no known folder")
    else if (part[1] != own && level[part[1]] + 0 >= level[own] + 0)
        fault(own " (level " level[own] ") must not include " part[1] " (level " level[part[1]] ")")
}
/^[ \t]*#[ \t]*include[ \t]*</ {
    split($0, quoted, /[<>]/)
    if (quoted[2] in least && level[own] + 0 < least[quoted[2]] + 0)
        fault(own " must not need <" quoted[2] ">")
}
END {
    if (!bad) printf "%d files, every include goes down\n", n_files
    exit bad
}'
