"""The agent core: one loop that takes a prompt, drives the model and its tools, and yields events."""
