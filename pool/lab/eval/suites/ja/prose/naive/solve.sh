#!/bin/sh
# A list, too short, and no sentence.
mkdir -p "${LOGS_DIR:-/logs}/agent"
cp "$(dirname "$0")/answer.txt" "${LOGS_DIR:-/logs}/agent/"
