"""`pool review`: findings on a diff, for people, for pre-commit and for CI."""
