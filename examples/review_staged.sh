#!/bin/sh
# A pre-commit hook: let the model review what is staged, and refuse the commit if it finds a bug.
# A server that is away, or a review that fails, holds no commit up.
schema=$(mktemp) && trap 'rm -f "$schema"' EXIT
cat >"$schema" <<'JSON'
{"type": "object", "properties": {"bugs": {"type": "array", "items": {"type": "string"}}},
 "required": ["bugs"], "additionalProperties": false}
JSON
answer=$(git diff --cached | ${POOL:-pool} run --plan --ephemeral -q --max-turns 10 --wait-server 2 \
    --output-schema "$schema" "Review the staged diff below. List real bugs alone, each with its file and line.")
code=$?
if [ $code -ne 0 ]; then
    echo "not reviewed (pool run ended with exit code $code)" >&2
elif [ "$answer" != '{"bugs": []}' ]; then
    echo "$answer" >&2
    exit 1
fi
