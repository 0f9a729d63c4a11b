"""Small JSON values in a folder, each signed: what somebody else put there is not read."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from audit.errors import UsageError
from audit.paths import exists
from audit.safetext import visible

KEY_VARIABLE = "AUDIT_CACHE_KEY"
_SHORTEST_KEY = 16


class SignedFiles:
    """Values by name; many processes may read and write them at once.

    Parameters
    ----------
    folder : Path
        Made where it is missing.
    key : bytes
        Signs values together with their names; what another key signed is not read.
    """

    def __init__(self, folder: Path, key: bytes) -> None:
        self._folder, self._key = folder, key
        self._told = False

    def read(self, name: str) -> Any:
        """Return a value; None where there is none, or none that was signed with the key."""
        path = self._path(name)
        try:
            signature, _, text = path.read_bytes().partition(b"\n")
        except OSError:
            return None
        if not hmac.compare_digest(signature, self._signature(name, text)):
            return None
        return json.loads(text)

    def write(self, name: str, value: Any) -> None:
        """Keep a value, whole or not at all; where the folder takes none, that is said once."""
        text = json.dumps(value).encode("ascii")
        path = self._path(name)
        part = path.with_name(f".{secrets.token_hex(8)}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(self._signature(name, text) + b"\n" + text)
            part.replace(path)
        except OSError as error:
            with suppress(OSError):
                part.unlink()
            if not self._told:
                said = f"{self._folder}: the cache takes no entry: {error.strerror or error}"
                print(f"audit: {visible(said)}", file=sys.stderr)
            self._told = True

    def _path(self, name: str) -> Path:
        digest = hashlib.sha256(os.fsencode(name)).hexdigest()
        return self._folder / digest[:2] / digest[2:]

    def _signature(self, name: str, text: bytes) -> bytes:
        signed = hashlib.sha256(os.fsencode(name)).digest() + text
        return hmac.new(self._key, signed, hashlib.sha256).hexdigest().encode("ascii")


def signing_key() -> bytes:
    """Return the key of ``AUDIT_CACHE_KEY``, else a secret of this user, made when first asked for.

    Raises
    ------
    UsageError
        Where the key is too short to be a secret, or the secret's file cannot be made or may be
        read by others.
    """
    given = os.environ.get(KEY_VARIABLE, "")
    if given:
        if len(given) < _SHORTEST_KEY:
            raise UsageError(f"{KEY_VARIABLE} has fewer than {_SHORTEST_KEY} characters")
        return given.encode("utf-8", "surrogateescape")
    path = _secret_file()
    try:
        if not exists(path):
            _make_secret(path)
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise UsageError("may be read by others; run chmod 600 on it", path=str(path))
        key = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"the cache's key cannot be kept here ({error.strerror or error}); set {KEY_VARIABLE}",
            path=str(path),
        ) from None
    if len(key) < _SHORTEST_KEY:
        raise UsageError("holds no key of the cache; delete it", path=str(path))
    return key


def _secret_file() -> Path:
    named = os.environ.get("LOCALAPPDATA") if os.name == "nt" else os.environ.get("XDG_STATE_HOME")
    folder = Path(named) if named else Path(os.path.expanduser("~")) / ".local" / "state"  # noqa: PTH111 - Path.home raises without a home
    return folder / "audit" / "cache-key"


def _make_secret(path: Path) -> None:
    """Write a secret whole, unless another process was first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_hex(32).encode("ascii"))
        with suppress(FileExistsError):
            os.link(part, path)
    finally:
        part.unlink()
