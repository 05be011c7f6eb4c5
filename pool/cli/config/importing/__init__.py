"""`pool config import`: what the user's own configuration of another agent holds, in Pool's words."""
