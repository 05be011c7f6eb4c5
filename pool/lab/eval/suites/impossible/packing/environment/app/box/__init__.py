"""Bytes in little room."""
