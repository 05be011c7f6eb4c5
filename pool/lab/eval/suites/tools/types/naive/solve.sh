#!/bin/sh
# Everything as text: a number in quotation marks, a list as one name, the switch left out.
mkdir -p "${LOGS_DIR:-/logs}/agent"
cp "$(dirname "$0")/trajectory.json" "$(dirname "$0")/answer.txt" "${LOGS_DIR:-/logs}/agent/"
