"""`pool sim`: a simulated Laguna server with vLLM's wire, its faults on request, and a rule-based model.

The model is no language model: it is a set of rules that reads failing tests, looks for some kinds of bug and mends
them with the client's tools, calls a client's functions, and knows a little Japanese. Everything around it (template,
tokens, parsers, chunks, errors, counters) follows
vLLM 0.25.1 as recorded in `tests/wire/recordings/`.
"""
