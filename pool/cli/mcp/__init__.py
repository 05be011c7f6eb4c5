"""`pool mcp`: the configured MCP servers, and trying one."""
