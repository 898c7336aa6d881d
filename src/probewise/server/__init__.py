"""The server: campaigns of a folder or database as pages for people and as an interface for machines."""
