#!/bin/sh
# A pre-commit hook: let the model review what is staged, and refuse the commit if it finds what is bad enough.
# A server that is away, or a review that fails, holds no commit up.
${POOL:-pool} review --staged -q --fail-on "${FAIL_ON:-high}" --max-turns 10 --wait-server 2 >&2
case $? in
    0) ;;
    3) exit 1 ;;
    *) echo "not reviewed" >&2 ;;
esac
