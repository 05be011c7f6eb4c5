"""What is made of a checkout for others: wheel, wheelhouse, lists of parts and licences. Run by make."""
