"""Reviewing a diff: read-only runs that report findings."""
