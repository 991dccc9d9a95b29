"""Builds and checks the book; knows pages, never one particular page."""
