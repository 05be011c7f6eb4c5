"""The full-screen interface: a Textual app around one conversation. Holds no logic of the agent's."""
