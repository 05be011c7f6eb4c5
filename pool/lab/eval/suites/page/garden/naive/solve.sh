#!/bin/sh
# A garden on its head, whose night is as light as its day, and in which nothing that is planted counts.
cp "$(dirname "$0")/index.html" index.html
