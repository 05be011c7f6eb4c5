"""What both ends of the Agent Client Protocol need: JSON-RPC over some transport, and its errors."""
