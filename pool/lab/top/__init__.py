"""`pool top`: what a server is doing now, from its metrics."""
