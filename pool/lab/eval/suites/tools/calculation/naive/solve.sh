#!/bin/sh
# Call markup that ended up in the text, and an answer that was guessed.
mkdir -p "${LOGS_DIR:-/logs}/agent"
cp "$(dirname "$0")/trajectory.json" "$(dirname "$0")/answer.txt" "${LOGS_DIR:-/logs}/agent/"
