#!/bin/sh
# tools/install-packages.sh waits for another apt, says so, and gives up where something else is
# wrong. apt-get and what it would install are stand-ins.
. "$(dirname "$0")/../support/checks.sh"
script=$(cd "$(dirname "$0")/../.." && pwd)/tools/install-packages.sh

stand_in() {
    { echo '#!/bin/sh'; cat; } >"$work/$1"
    chmod +x "$work/$1"
}
echo exit 1 | stand_in pkg-config # every library is missing
echo echo 0 | stand_in id
echo 'echo "$1" >>'"$work/slept" | stand_in sleep
# The first calls (a line of "left" each) say what that file says.
stand_in apt-get <<END
echo "\$*" >>$work/calls
[ -s $work/left ] || exit 0
head -1 $work/left >&2
sed -i 1d $work/left
exit 100
END
PATH=$work:$PATH
export PATH

lock='E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt)'
printf '%s\n%s\n' "$lock" "$lock" >"$work/left"
said=$(sh "$script" 2>&1) || complain "a lock that is given back: $said"
case $said in *waiting*) ;; *) complain "it does not say that it waits: $said" ;; esac
[ "$(grep -c ' update' "$work/calls")" -eq 3 ] || complain "updates: $(cat "$work/calls")"
[ "$(grep -c ' install' "$work/calls")" -eq 1 ] || complain "installs: $(cat "$work/calls")"
[ "$(wc -l <"$work/slept")" -eq 2 ] || complain "waited: $(cat "$work/slept")"

# The update has no network; the installation meets the lock, then a package that is not there.
printf '%s\n%s\n%s\n' 'E: no network' "$lock" 'E: Unable to locate package' >"$work/left"
: >"$work/calls"
said=$(sh "$script" 2>&1) && complain "what cannot be installed is no failure"
case $said in *'Unable to locate'*) ;; *) complain "why it failed is not said: $said" ;; esac
[ "$(grep -c ' install' "$work/calls")" -eq 2 ] || complain "installs: $(cat "$work/calls")"
exit $bad
