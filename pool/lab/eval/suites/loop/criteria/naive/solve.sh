#!/bin/sh
# It plans again and again.
mkdir -p "${LOGS_DIR:-/logs}/agent"
cp "$(dirname "$0")/answer.txt" "${LOGS_DIR:-/logs}/agent/"
