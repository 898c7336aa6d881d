"""What a worker does: everything that reads a journal, thinks or writes, as functions from JSON to JSON."""
