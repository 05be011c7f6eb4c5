"""Hooks: commands of the user or of a trusted checkout that run at fixed points of a session."""
