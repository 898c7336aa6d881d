"""Pages: what people see and fill in, made on the server of the same pieces as the report."""
