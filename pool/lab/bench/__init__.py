"""`pool bench`: how fast a server reads and writes, and what speculation brings, from the server's own token counts."""
