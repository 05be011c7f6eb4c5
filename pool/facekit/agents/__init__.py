"""Other agents in the place of Pool's own, over the Agent Client Protocol."""
