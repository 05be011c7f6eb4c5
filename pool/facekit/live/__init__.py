"""Runs that work in a process of their own: where they are found, and speaking to one."""
