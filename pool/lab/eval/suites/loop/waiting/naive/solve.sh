#!/bin/sh
# It runs the script for ever, and no answer comes.
mkdir -p "${LOGS_DIR:-/logs}/agent"
cp "$(dirname "$0")/answer.txt" "${LOGS_DIR:-/logs}/agent/"
