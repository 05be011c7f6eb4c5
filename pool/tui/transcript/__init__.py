"""The transcript: one scrollable widget that draws a conversation line by line.

Finished blocks are laid out once per width and kept as lines; only an open block is laid out again, once a frame at
most. There is no widget per message, so that the cost of a token does not grow with the session.
"""
