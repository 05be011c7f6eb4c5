"""Amounts in other currencies."""
