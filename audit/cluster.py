"""A Dask cluster that the user runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from audit.errors import UsageError


@contextmanager
def client_of(address: str, timeout: float = 20) -> Iterator[Any]:
    """Give a client of the scheduler at an address.

    Parameters
    ----------
    address : str
        Such as ``tcp://scheduler:8786``.
    timeout : float
        Seconds to wait for the scheduler.

    Raises
    ------
    UsageError
        When Dask is missing or the scheduler does not answer.
    """
    try:
        from distributed import Client
    except ImportError:
        raise UsageError("--scheduler needs Dask: pip install 'recipe-audit[cluster]'") from None
    try:
        client = Client(address, timeout=timeout)
    except (OSError, TimeoutError, ValueError) as error:
        raise UsageError(f"no Dask scheduler answers at {address}: {error}") from error
    with client:
        yield client


def killed_its_workers(error: BaseException) -> bool:
    """Whether a task was given up because each worker that took it died."""
    return type(error).__name__ == "KilledWorker"
