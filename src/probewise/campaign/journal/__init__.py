"""How records survive: what a record is, where journals are kept, and copies of them."""
