#!/bin/sh
# prune.sh TARGET FOLDER KEEP: removes the oldest archives of FOLDER in TARGET and prints their names.
# At most KEEP archives stay. Archives of other folders are left alone.
set -eu

target="$1"
folder="$2"
keep="$3"

# The day is in the name, so that the order of names is the order of days.
count=0
for archive in "$target/$folder"-[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9].tar; do
    if [ -e "$archive" ]; then
        count=$((count + 1))
    fi
done

for archive in "$target/$folder"-[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9].tar; do
    if [ "$count" -gt "$keep" ]; then
        rm -f -- "$archive"
        basename "$archive"
        count=$((count - 1))
    fi
done
