"""The code that the book shows, one module per chapter."""
