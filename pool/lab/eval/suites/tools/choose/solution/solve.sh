#!/bin/sh
# The calls and the answer of a run that goes well.
mkdir -p "${LOGS_DIR:-/logs}/agent"
cp "$(dirname "$0")/trajectory.json" "$(dirname "$0")/answer.txt" "${LOGS_DIR:-/logs}/agent/"
