#!/bin/sh
# pack.sh FOLDER TARGET DAY: packs FOLDER into TARGET/NAME-DAY.tar and prints that path.
# Any name of a folder must work. Ends with 2 if FOLDER is no folder.
set -eu

folder="$1"
target="$2"
day="$3"

if [ ! -d "$folder" ]; then
    echo "pack.sh: $folder is no folder" >&2
    exit 2
fi

name=$(basename "$folder")
mkdir -p "$target"
tar -cf "$target/$name-$day.tar" -C "$folder" .
echo "$target/$name-$day.tar"
