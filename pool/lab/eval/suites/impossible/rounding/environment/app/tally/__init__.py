"""Numbers for people who count in tens."""
