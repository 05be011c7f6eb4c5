#!/bin/sh
# The page as it should be.
cp "$(dirname "$0")/index.html" index.html
