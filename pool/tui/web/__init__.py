"""The interface in a browser, by textual-serve: each page is a Pool of its own."""
