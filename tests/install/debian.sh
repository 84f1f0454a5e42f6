#!/bin/sh
# Installs Debian's packages (`make deb`) into a bare Debian 12 root, serves a model there, removes them
# and looks at what is left. Not a part of `make test`: needs root, a mirror of Debian and minutes.
#
#     tests/install/debian.sh MODEL.gguf [BASE]
#
# MODEL is one that a pack was trained for (smollm2-135m). BASE is the bare root, made by debootstrap
# where it is not there; all happens in a copy of it that goes in the end. Programs and packages are
# those of build/ and build-deb/; another port than 8979: PORT=N. Says what it found, line by line, and
# exits 1 if anything was wrong.
set -u
cd "$(dirname "$0")/../.." || exit 1
model=${1:?usage: tests/install/debian.sh MODEL.gguf [BASE]}
base=${2:-build-deb/debian-12}
port=${PORT:-8979}
program=build/forerun
work=$(mktemp -d) || exit 1
root=$work/root
bad=0
server=
complain() {
    echo "FAIL $*"
    bad=1
}
fatal() { # what log
    complain "$1"
    cat "$2" >&2
    exit 1
}
in_root() {
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive "$@"
}
quietly() { # why command...: its output is told only where it failed
    why=$1
    shift
    "$@" >"$work/log" 2>&1 </dev/null || fatal "$why" "$work/log"
}
clean_up() {
    [ "$server" ] && kill "$server" 2>/dev/null && wait "$server" 2>/dev/null
    mountpoint -q "$root/proc" && umount "$root/proc"
    mountpoint -q "$root/proc" || rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM
now() { date +%s.%N; }
since() { echo "$(now) $1" | awk '{ printf "%.1f", $1 - $2 }'; }
# Every file and link, with what a package manager keeps of itself left out.
list_files() {
    find "$root" -xdev -path "$root/proc" -prune -o -path "$root/tmp" -prune -o -path "$root/dev" -prune \
        -o -printf '/%P\n' | grep -Ev '^/var/(lib/dpkg/.*-old|log/|cache/(apt|ldconfig|debconf)/|lib/apt/)' |
        LC_ALL=C sort
}

[ "$(id -u)" = 0 ] || {
    echo "SKIP needs root"
    exit 0
}
[ -x "$program" ] && ls build-deb/*.deb >/dev/null 2>&1 || {
    echo "debian.sh: make build deb first" >&2
    exit 2
}
if [ ! -e "$base/usr/bin/apt-get" ]; then
    echo "making a bare Debian 12 in $base"
    quietly debootstrap debootstrap --variant=minbase bookworm "$base" http://deb.debian.org/debian
fi

# --- lintian -------------------------------------------------------------------------------------
if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error build-deb/*.deb >"$work/lintian" 2>&1 || complain "lintian: errors"
    echo "lintian: $(grep -c '^E:' "$work/lintian") errors, $(grep -c '^W:' "$work/lintian") warnings"
    grep '^[EW]:' "$work/lintian"
else
    echo "SKIP lintian is not installed"
fi

# --- a bare root with a user's own files -----------------------------------------------------------
cp -a "$base" "$root"
mount -t proc proc "$root/proc" || fatal "mount /proc" /dev/null
quietly "apt-get update" in_root apt-get update
[ -e "$root/usr/bin/forerun" ] && complain "$base has forerun in it already"
wants=etc/systemd/system/multi-user.target.wants
mkdir -p "$root/srv/models" "$root/var/cache/private" "$root/$wants" # the latter two are systemd's
cp "$model" "$root/srv/models/model.gguf"
list_files >"$work/before"
in_root dpkg-query -Wf '${Package}\n' >"$work/packages-before"

# --- from apt to a streamed answer -------------------------------------------------------------------
cat >"$work/body.json" <<'END'
{"messages": [{"role": "user", "content": "Name three rivers."}], "temperature": 0, "seed": 1, "max_tokens": 64,
 "stream": true}
END
mkdir "$root/tmp/debs"
cp build-deb/*.deb "$root/tmp/debs"
begun=$(now)
quietly "apt-get install" in_root sh -c 'apt-get install -y --no-install-recommends /tmp/debs/*.deb'
installed=$(since "$begun")
# As the unit has it: nobody's rights, a cache of its own.
mkdir "$root/var/cache/private/forerun"
ln -s private/forerun "$root/var/cache/forerun"
chown 65534:65534 "$root/var/cache/private/forerun"
chroot --userspec=65534:65534 "$root" env -i PATH=/usr/bin:/bin XDG_CACHE_HOME=/var/cache/forerun \
    forerun serve -m /srv/models/model.gguf --port "$port" >"$work/serve.log" 2>&1 &
server=$!
tries=0
until grep -q '^listening on' "$work/serve.log"; do
    tries=$((tries + 1))
    kill -0 $server 2>/dev/null && [ $tries -lt 6000 ] || fatal "the server does not come up" "$work/serve.log"
    sleep 0.1
done
curl -sSN --max-time 600 -d @"$work/body.json" "http://127.0.0.1:$port/v1/chat/completions" >"$work/stream" ||
    fatal "curl" "$work/serve.log"
answered=$(since "$begun")
grep -q '^data: \[DONE\]' "$work/stream" || fatal "the stream has no end" "$work/stream"
echo "apt-get install: $installed s; with serve, to the end of a streamed answer: $answered s"
echo "$answered" | awk '{ exit !($1 < 60) }' || complain "more than 60 s"
python3 -c '
import json, sys
for line in open(sys.argv[1]):
    if line.startswith("data: {"):
        for choice in json.loads(line[6:])["choices"]:
            sys.stdout.write(choice["delta"].get("content") or "")
' "$work/stream" >"$work/streamed"
kill $server
wait $server || complain "the server ends with $?"
server=

# --- the same bytes, the packs, the library -----------------------------------------------------------
"$program" run --quiet -m "$model" --request "$work/body.json" >"$work/expected" || complain "$program run"
[ "$(wc -c <"$work/expected")" -gt 40 ] || complain "the answer is too short to compare"
cmp "$work/expected" "$work/streamed" && echo "streamed bytes: those of the build tree's program ($(wc -c <"$work/streamed"))"
[ $? = 0 ] || bad=1
for drafter in auto eagle none; do
    in_root forerun run --json -m /srv/models/model.gguf --temp 0 -n 64 --drafter $drafter \
        -p "Name three rivers." >"$work/run.json" || complain "run --drafter $drafter"
    "$program" run --json -m "$model" --temp 0 -n 64 --drafter none -p "Name three rivers." >"$work/plain.json"
    python3 - "$work/run.json" "$work/plain.json" $drafter <<'END' || bad=1
import json, sys
here, plain = (json.load(open(p)) for p in sys.argv[1:3])
print("run --drafter %s: used %s, %.2f tokens a pass" % (sys.argv[3], here["used"], here["tokens_per_pass"]))
if here["text"] != plain["text"]: sys.exit("FAIL its bytes are others")
if sys.argv[3] != "none" and here["tokens_per_pass"] <= 1: sys.exit("FAIL nothing was drafted")
END
done
in_root forerun doctor --json -m /srv/models/model.gguf >"$work/doctor.json" || complain "doctor"
python3 - "$work/doctor.json" <<'END' || bad=1
import json, sys
packs = [p["path"] for p in json.load(open(sys.argv[1]))["packs"]["found"] if p["fits"]]
print("doctor: %d packs for this model in %s" % (len(packs), {p.rsplit("/", 1)[0] for p in packs}))
if not any(p.startswith("/usr/share/forerun/packs/") and "eagle" in p for p in packs):
    sys.exit("FAIL the eagle is not found")
END
# A program that is nowhere near the packs finds them through the library.
cat >"$work/embed.c" <<'END'
#include <forerun.h>
#include <stdio.h>
int main(int argc, char **argv) {
    fr_engine *engine = NULL;
    fr_session *session = NULL;
    fr_error err;
    const fr_session_options options = {.size = sizeof options, .drafter = "eagle"};
    if (argc != 2 || fr_engine_open(&engine, argv[1], NULL, &err) || fr_session_open(&session, engine, &options, &err))
        return fprintf(stderr, "%s\n", err.text), 1;
    fr_session_close(session);
    fr_engine_close(engine);
    return 0;
}
END
libdir=$(dirname "$(find "$root/usr/lib" -name libforerun.so)")
if command -v cc >/dev/null && command -v pkg-config >/dev/null; then
    # What stands in system folders pkg-config leaves out, so here they are named.
    flags=$(PKG_CONFIG_LIBDIR=$libdir/pkgconfig pkg-config --cflags --libs forerun) || complain "forerun.pc"
    # shellcheck disable=SC2086
    cc "$work/embed.c" -I"$root/usr/include" -L"$libdir" -Wl,-rpath-link,"$libdir" \
        -Wl,--unresolved-symbols=ignore-in-shared-libs $flags -o "$root/tmp/embed" || complain "cc embed.c"
    in_root /tmp/embed /srv/models/model.gguf && echo "embedded: the library finds the eagle ($flags)" ||
        complain "the library finds no pack"
else
    echo "SKIP no compiler: the library was not tried"
fi
if command -v systemd-analyze >/dev/null; then
    systemd-analyze verify --root="$root" --man=no --recursive-errors=no forerun.service >"$work/verify" 2>&1 ||
        { complain "systemd-analyze verify" && cat "$work/verify"; }
    echo "systemd-analyze verify: $(wc -l <"$work/verify") lines"
fi
find "$root/etc/systemd" -name 'forerun.service' | grep . && complain "the unit is enabled without a model"

# --- again over itself, then away ---------------------------------------------------------------------
echo '# mine' >>"$root/etc/default/forerun"
quietly "reinstalling" in_root sh -c 'dpkg -i --force-confold /tmp/debs/*.deb'
grep -q '^# mine' "$root/etc/default/forerun" || complain "a configuration was overwritten"
in_root dpkg -V forerun libforerun0 libforerun-dev forerun-packs | grep -v ' c /etc/default/forerun' &&
    complain "dpkg -V"
ln -s /lib/systemd/system/forerun.service "$root/$wants" # what systemctl enable does
mkdir -p "$root/var/lib/forerun/packs"
echo own >"$root/var/lib/forerun/packs/own.gguf"
names="forerun libforerun0 libforerun-dev forerun-packs"
# shellcheck disable=SC2086
quietly "apt-get remove" in_root apt-get remove -y $names
[ -e "$root/etc/default/forerun" ] || complain "removing took the configuration"
[ -e "$root/usr/bin/forerun" ] && complain "removing left the program"
# shellcheck disable=SC2086
quietly "dpkg --purge" in_root dpkg --purge $names
find "$root" -xdev -path "$root/proc" -prune -o -name '*forerun*' ! -path "$root/tmp/*" ! -path "$root/var/lib/forerun*" \
    -print | grep . && complain "purging left files"
quietly "apt-get autoremove" in_root apt-get autoremove -y --purge
in_root dpkg-query -Wf '${Package}\n' | diff "$work/packages-before" - || complain "other packages than before"
list_files >"$work/after"
diff "$work/before" "$work/after" >"$work/left"
cat >"$work/left-expected" <<'END'
> /var/lib/forerun
> /var/lib/forerun/packs
> /var/lib/forerun/packs/own.gguf
END
grep '^[<>]' "$work/left" | diff "$work/left-expected" - || complain "files differ from before"
echo "purged: $(wc -l <"$work/before") files and folders before, $(wc -l <"$work/after") after; besides them $(grep -c '^>' "$work/left"), of a user's pack"
cmp "$model" "$root/srv/models/model.gguf" || complain "the user's model"
[ $bad = 0 ] && echo "all right"
exit $bad
