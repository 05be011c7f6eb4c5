#!/bin/sh
# The mended files, over those of the tree.
cp -R "$(dirname "$0")/app/." .
