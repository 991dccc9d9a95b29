"""The tests of the book's machinery start many kernels; they share what is imported."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def _warm(warm_kernels):
    """Fork all kernels of these tests from one process."""
