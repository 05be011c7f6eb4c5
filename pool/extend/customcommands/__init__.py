"""Custom commands: Markdown files that become `/name`."""
