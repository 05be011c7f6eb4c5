"""Suites that a user has, written anew in the layout of Harbor's tasks."""
