"""The command line. Each command's code is imported only when that command runs."""
