#!/bin/sh
# It takes the first line with a 30 in it.
mkdir -p "${LOGS_DIR:-/logs}/agent"
cp "$(dirname "$0")/trajectory.json" "$(dirname "$0")/answer.txt" "${LOGS_DIR:-/logs}/agent/"
