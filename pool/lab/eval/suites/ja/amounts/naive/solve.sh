#!/bin/sh
# Tax before postage, where it comes after.
mkdir -p "${LOGS_DIR:-/logs}/agent"
cp "$(dirname "$0")/answer.txt" "${LOGS_DIR:-/logs}/agent/"
