#!/bin/sh
# Checks that the tile kernels of AVX-512 and AVX-VNNI keep their accumulators in registers: a
# variable bound or a hoisted load makes the compiler spill them, which costs half the speed and no
# test would see it.
#     registers.sh LIBRARY     exit 1 and one line for each function with more than 4 vector accesses
# to the stack (a few constants may lie there).
objdump -d --no-show-raw-insn "$1" | awk '
/^[0-9a-f]+ <.*>:$/ {
    name = $2
    gsub(/[<>:]/, "", name)
    vnni = name ~ /^vnni_.*_tile_[1-4]$/
    tile = vnni || name ~ /_tile_[1-8]$|_tile_[12]_[1-6]$|^(score|value|shared)_[1-8]_[1-8]$/
    vector = vnni ? "%ymm" : "%zmm"
    wide[name] += 0
}
tile && index($0, vector) {
    wide[name]++
    if (/\(%r[sb]p/) stack[name]++
}
END {
    for (name in wide) {
        checked += wide[name] > 0
        vnnis += wide[name] > 0 && name ~ /^vnni_/
        if (stack[name] > 4) {
            printf "%s: %d vectors on the stack\n", name, stack[name]
            bad = 1
        }
    }
    printf "%d tile kernels looked at, %d of AVX-VNNI\n", checked, vnnis
    exit bad || checked - vnnis < 100 || vnnis < 60
}'
