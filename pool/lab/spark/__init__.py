"""`make spark`: what only an owner's machine can tell, in under 45 minutes, as a report to send in."""
