"""Skills: folders with instructions for special tasks, in the open format of agentskills.io."""
