"""Lists of guests."""
