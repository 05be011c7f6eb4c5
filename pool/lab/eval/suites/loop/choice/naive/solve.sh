#!/bin/sh
# It weighs, and does not choose.
mkdir -p "${LOGS_DIR:-/logs}/agent"
cp "$(dirname "$0")/answer.txt" "${LOGS_DIR:-/logs}/agent/"
