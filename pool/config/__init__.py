"""Settings: environment and flags become one validated object."""
