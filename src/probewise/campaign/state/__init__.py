"""What records mean: the charter, the rounds with their rows, and the states they lead the algorithm to."""
