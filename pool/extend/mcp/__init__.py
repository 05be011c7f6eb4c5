"""MCP servers: started apart from the first request, their tools found and called by the agent."""
