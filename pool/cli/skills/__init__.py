"""`pool skills`: skills and custom commands, listed, checked and shown."""
