"""Talking to a model server: HTTP and SSE in, deltas, and the reader that turns deltas into a reading."""
