"""The measuring commands: what does this server do, and what did it send?"""
