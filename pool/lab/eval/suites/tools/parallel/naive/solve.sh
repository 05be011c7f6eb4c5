#!/bin/sh
# One call after the other, where both can be made at once: a server or a parser that keeps one call of two looks like this.
mkdir -p "${LOGS_DIR:-/logs}/agent"
cp "$(dirname "$0")/trajectory.json" "$(dirname "$0")/answer.txt" "${LOGS_DIR:-/logs}/agent/"
