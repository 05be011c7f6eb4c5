"""Pages of the web as text, and a search by a provider that the user names. Both are off unless switched on."""
