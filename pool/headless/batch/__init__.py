"""`pool batch`: many prompts, each worked by a `pool run` of its own in a folder of its own."""
