"""A client of the Language Server Protocol, as far as diagnostics need it."""
