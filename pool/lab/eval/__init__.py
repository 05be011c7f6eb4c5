"""Evaluation: a model behind a server, or several, through suites of tasks."""
