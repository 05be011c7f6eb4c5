"""`pool doctor`: can an agent work with this server, and on this machine? Each check has a remedy to paste."""
