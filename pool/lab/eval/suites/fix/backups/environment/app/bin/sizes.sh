#!/bin/sh
# sizes.sh TARGET [MIN]: prints "BYTES NAME" for each archive in TARGET that has at least MIN bytes (1 if not given).
set -eu

target="$1"
min="${2:-1}"

for archive in "$target"/*.tar; do
    if [ ! -e "$archive" ]; then
        continue
    fi
    bytes=$(wc -c < "$archive")
    if [ "$bytes" -gt "$min" ]; then
        echo "$((bytes)) $(basename "$archive")"
    fi
done
