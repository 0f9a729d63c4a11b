"""Files in object stores, by URL: ``s3://``, ``gs://``, ``hf://`` and what else fsspec knows.

URLs are printed wherever a file's name is, so one that carries a secret is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from audit.errors import InputError

_INSTALL = "pip install 'recipe-audit[remote]'"
# Packages that bring a store to fsspec, by the scheme.
_PACKAGES = {
    **dict.fromkeys(("s3", "s3a"), "s3fs"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("az", "abfs", "abfss", "adl"), "adlfs"),
    **dict.fromkeys(("http", "https"), "aiohttp"),
    "hf": "huggingface_hub",
}
_WEB = ("http", "https")
_MAGIC = re.compile(r"[*?[]")


@contextmanager
def opened(url: str) -> Iterator[BinaryIO]:
    """Open an object to be read.

    Raises
    ------
    InputError
        When it cannot be read, or the package of its store is missing; the line names it.
    """
    with _told(url):
        system, path = _system(url)
        with system.open(path, "rb") as file:
            yield cast("BinaryIO", file)


def kind_of(url: str) -> str | None:
    """Return ``file`` or ``directory``; None where nothing is there.

    Raises
    ------
    InputError
        Where the store cannot say.
    """
    with _told(url):
        system, path = _system(url)
        try:
            return str(system.info(path)["type"])
        except FileNotFoundError:
            return None


def files_below(url: str) -> list[str]:
    """Return all files below a folder, by their paths from there.

    Raises
    ------
    InputError
        Where the store cannot list them.
    """
    with _told(url):
        system, path = _system(url)
        return [_below(path, found) for found in system.find(path)]


def is_pattern(url: str) -> bool:
    """Whether a URL is a pattern, where nothing has that very name."""
    return _MAGIC.search(url) is not None


def matches_of(url: str) -> list[str]:
    """Return the URLs that a pattern matches, sorted; hidden names only where it names some.

    Raises
    ------
    InputError
        Where the store cannot list them.
    """
    start = _MAGIC.split(url, maxsplit=1)[0].rpartition("/")[0]
    with _told(url):
        system, path = _system(url)
        _, top = _system(start + "/")
        found = [_below(top, match) for match in system.glob(path)]
    if "/." not in url:
        found = [below for below in found if "/." not in f"/{below}"]
    return sorted(f"{start}/{below}" for below in found)


def _below(top: str, path: str) -> str:
    return path.removeprefix(top.rstrip("/")).lstrip("/")


def _system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL and the path in it."""
    _refuse_secrets(url)
    scheme = url.partition("://")[0]
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise InputError(f"{scheme}:// needs fsspec: {_INSTALL}", path=url) from None
    try:
        system, path = url_to_fs(url)
    except ImportError as error:
        package = _PACKAGES.get(scheme.lower())
        needs = f"{package}: pip install {package}" if package else f"a package: {error}"
        raise InputError(f"{scheme}:// needs {needs}", path=url) from None
    return system, path


def _refuse_secrets(url: str) -> None:
    parts = urlsplit(url)
    user, sign, _ = parts.netloc.rpartition("@")
    web = parts.scheme.lower() in _WEB
    if (sign and (web or ":" in user)) or (web and parts.query):
        host = parts.netloc.rpartition("@")[2]
        raise InputError(
            "may carry a secret, which outputs would print; give the store what it asks for in "
            "its own variables or files",
            path=f"{parts.scheme}://{host}{parts.path}",
        )
    if "::" in url:
        raise InputError("a chain of URLs is not read; name the file itself", path=url)


@contextmanager
def _told(url: str) -> Iterator[None]:
    """Turn what a store raises, each by its own classes, into one line with the URL."""
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError("cannot be read: No such file or directory", path=url) from None
    except PermissionError:
        raise InputError("cannot be read: Permission denied", path=url) from None
    except MemoryError:
        raise
    except Exception as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"cannot be read: {said[:200]}", path=url) from None
