"""`python -m pool`."""

from pool.cli.main import entry

entry()
