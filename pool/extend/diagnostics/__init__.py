"""Diagnostics after edits: what checkers and language servers say of a file that they did not say before."""
