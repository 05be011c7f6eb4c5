"""Did a run earn its success? What its record shows, what a fresh test run shows, and what follows from both."""
