"""What lives beside the index while a watcher runs: hints of changes, and the model held open for queries."""
