"""`pool run`: a run without a person, as text, JSON, or a stream of JSON events."""
