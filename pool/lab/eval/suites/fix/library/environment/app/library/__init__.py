"""A lending library: books, members, loans, fines, and a desk at which all of it happens."""
