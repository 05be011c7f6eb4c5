"""`pool secrets`: values that single commands may be given."""
