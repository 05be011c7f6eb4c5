"""What people bring along: instructions in AGENTS.md files."""
