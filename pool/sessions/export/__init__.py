"""A session as a file for others: ATIF, a web page, Markdown, chat messages for training. And back from two of them."""
