"""Solvers of the small design problem, each unaware of the others and of the certificate of the whole."""
