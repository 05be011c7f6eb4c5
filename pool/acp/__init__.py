"""The Agent Client Protocol: Pool in editors. Own framing and own messages; docs/editors.md says why."""
