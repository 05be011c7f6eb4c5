"""Panels that fill the window: what changed, going back, committing, the context, statistics. Loaded when opened."""
