#!/bin/sh
exec python3 -I "${TESTS_DIR:-/tests}/ending.py"
