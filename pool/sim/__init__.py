"""`pool sim`: a simulated Laguna server with vLLM's wire, its faults on request, and a rule-based model.

The model is no language model: it is a small set of rules that reads failing tests, looks for three kinds of bug and
mends them with the client's tools. Everything around it (template, tokens, parsers, chunks, errors, counters) follows
vLLM 0.25.1 as recorded in `tests/wire/recordings/`.
"""
