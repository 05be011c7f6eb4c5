"""Sessions on disk: an append-only log of durable events, and the history rebuilt from it."""
