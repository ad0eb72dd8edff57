"""What the program does as a whole: a night's work, the watcher, hooks, doctor, forgetting, status and models."""
