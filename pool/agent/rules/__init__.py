"""Rules for what may run unasked: their text, the parts of a shell command, and how one meets the other."""
