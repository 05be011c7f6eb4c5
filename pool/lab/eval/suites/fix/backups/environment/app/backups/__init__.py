"""Backups of folders: shell scripts in `bin/` pack and prune them, this package plans and reports."""
