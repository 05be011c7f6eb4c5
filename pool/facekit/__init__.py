"""What the full-screen and the line interface share: no widgets, and nothing that prints."""
