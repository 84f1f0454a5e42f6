#!/bin/sh
# deploy/haproxy.cfg as HAProxy itself reads it, and the flags in deploy/ as `forerun serve` does.
config=$FR_SOURCE_DIR/deploy/haproxy.cfg
flags=$("$FORERUN" serve --help) || exit 1
fail() {
    echo "$1"
    exit 1
}

# Every flag that a file there gives is one of the server's.
given=$(grep -ohE -- '^ +- --[a-z-]+|`forerun serve [^`]*`' "$FR_SOURCE_DIR"/deploy/* | grep -oE -- '--[a-z-]+')
[ -n "$given" ] || fail "deploy: no file there gives a flag"
for flag in $given; do
    echo "$flags" | grep -qE -- "(^|[ ,])$flag([ ,=]|\$)" || fail "deploy: no flag of forerun serve: $flag"
done

PATH=$PATH:/usr/sbin
if ! command -v haproxy >/dev/null; then
    echo "SKIP haproxy is not installed"
    exit 0
fi
said=$(FORERUN_ROOTLESS=1 FORERUN_A=127.0.0.1:1 haproxy -c -f "$config" 2>&1) || fail "$said"
case $said in
*WARNING* | *Warnings*) fail "$said" ;;
esac
said=$(FORERUN_ROOTLESS=1 FORERUN_D=127.0.0.1 FORERUN_STATS=nonsense haproxy -c -f "$config" 2>&1) && fail "it took nonsense: $said"
command -v python3 >/dev/null || {
    echo "SKIP python3 is not installed"
    exit 0
}
exec python3 "$FR_SOURCE_DIR/tests/serve/haproxy_names.py"
