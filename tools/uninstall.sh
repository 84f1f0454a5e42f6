#!/bin/sh
# Removes the files of a list, as `make install` leaves one, then forerun's own folders where nothing else
# is in them.
#     tools/uninstall.sh LIST [DESTDIR]
set -eu
list=$1
root=${2:-}
if [ ! -e "$list" ]; then
    echo "uninstall: $list is not there: nothing was installed from here" >&2
    exit 1
fi
{
    cat "$list"
    echo # its last line has no end
} | while read -r path; do
    [ "$path" ] || continue
    rm -f "$root$path"
    folder=$(dirname "$path")
    while :; do # share/forerun/packs, share/doc/forerun/examples and what they are in
        case $folder in */forerun | */forerun/*) ;; *) break ;; esac
        rmdir "$root$folder" 2>/dev/null || break
        folder=$(dirname "$folder")
    done
done
