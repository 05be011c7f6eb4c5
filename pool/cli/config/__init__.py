"""`pool config`: show, change, check and trust the configuration."""
