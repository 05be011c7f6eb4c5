"""Pool as a thing on this machine: where it keeps what, and taking it away."""
