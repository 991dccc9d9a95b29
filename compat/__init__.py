"""Runs the book's chapters under other versions than its own; see `make compat`."""
