"""Subagents: tasks that the model gives to agents with a history, a session and limits of their own."""
