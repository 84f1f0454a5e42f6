#!/bin/sh
# Checks that dependencies go one way: a folder of src/ or lab/ includes only folders with a lower
# number. Siblings (equal numbers) must not include each other. include/forerun.h is for everyone. A
# folder inside one that has numbers of its own needs one too.
#     tools/check-levels.sh [ROOT]     exit 1 and one line for each wrong include
root=${1:-$(dirname "$0")/..}
cd "$root" || exit 1
find src lab -name '*.[ch]' | LC_ALL=C sort | xargs awk '
BEGIN {
    split("base 1 kern 2 gguf 3 tree 4 model 5 text 5 text/jinja 5.1 text/chat 5.2 json 5.5 catalog 5.6 decode/draw 5.9 decode 6 " \
          "draft/pack 7 draft/shared 7.05 draft/kit 7.1 draft 7.3 tune 7.5 engine 8 api 8.5 serve 9 " \
          "train/math 9 train/data 9.1 train/learner 9.2 train/block 9.3 train/attached 9.3 " \
          "draft/train 9.35 train/method 9.4 train 9.5 " \
          "cmd/lib 10 cmd/plot 10.1 cmd/bench 10.2 cmd/output 10.3 cmd/curve 10.4 " \
          "cmd/accuracy 10.5 cmd/distill 10.4 cmd/inspect 10.4 cmd/train 10.5 cmd/tune 10.5 cmd/doctor 10.5 cmd 10.6 " \
          "lab/draft 11 lab/train 11.1 lab/cmd 11.2 lab 11.3", pair, " ")
    for (i = 1; i in pair; i += 2) level[pair[i]] = pair[i + 1]
    # Libraries that stay with the parts that need them, and the lowest level that may.
    least["jansson.h"] = 5.5; least["microhttpd.h"] = 9; least["mpi.h"] = 9; least["dnnl.h"] = 9; least["zlib.h"] = 9
    least["sqlite3.h"] = 7; least["histedit.h"] = 10; least["editline/readline.h"] = 10
}
# The folder of a path, as includes write it, that has a level: its own, or the one it lies in
# (kernels of an instruction set are of kern).
function folder(path,    n, part, two) {
    sub("^src/", "", path)
    n = split(path, part, "/")
    two = part[1] "/" part[2]
    if (part[1] == "draft" && part[3] == "train") return "draft/train" # the learner of a drafter
    return n > 2 && (part[1] ~ /^(draft|train|cmd|text|lab)$/ || two in level) ? two : part[1]
}
# Any other folder of draft is that of drafters.
function drafter(name) {
    if (name ~ /^draft\// && !(name in level)) level[name] = 7.2
}
function fault(why) {
    printf "%s:%d: %s\n", FILENAME, FNR, why
    bad = 1
}
FNR == 1 {
    n_files++
    own = folder(FILENAME)
    drafter(own)
    if (!(own in level)) fault("folder " own " has no level (tools/check-levels.sh)")
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\"")
    name = quoted[2]
    if (name == "forerun.h" || name !~ "/") next # a bare name lies beside its includer
    to = folder(name)
    drafter(to)
    if (!(to in level)) fault("includes \"" name "\", which is in no known folder")
    else if (to != own && level[to] + 0 >= level[own] + 0)
        fault(own " (level " level[own] ") must not include " to " (level " level[to] ")")
}
/^[ \t]*#[ \t]*include[ \t]*</ {
    split($0, quoted, /[<>]/)
    if (quoted[2] in least && level[own] + 0 < least[quoted[2]] + 0)
        fault(own " must not need <" quoted[2] ">")
}
END {
    if (!n_files) {
        print "no sources in src and lab"
        exit 1
    }
    if (!bad) printf "%d files, every include goes down\n", n_files
    exit bad
}' || exit 1
