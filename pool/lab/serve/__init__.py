"""`pool serve`: what a model needs, the command that serves it, and a watch over a server that was started here."""
