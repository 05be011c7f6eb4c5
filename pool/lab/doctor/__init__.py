"""`pool doctor`: is this server set up so that an agent can work with it? Ten checks, each with a remedy to paste."""
