"""The line interface, `pool chat`: the conversation as lines that stay in the terminal's own scrollback."""
