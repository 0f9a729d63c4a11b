"""A reward that the user wrote: ``module:function``, found beside the study file."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import reprlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from audit.errors import InputError, UsageError
from audit.failure import described
from audit.paths import is_file
from audit.training.rewards import Score


@dataclass(frozen=True, slots=True)
class RewardProgram:
    """The name of a reward and the hash of its source; it travels to workers and is loaded there.

    ``folder`` is the study file's, absolute; it goes on the module path, last, so that the program
    can import what lies beside it and nothing there hides what is installed.
    """

    folder: str
    module: str
    function: str
    sha256: str

    @property
    def name(self) -> str:
        """The name as the study file has it."""
        return f"{self.module}:{self.function}"

    def scorer(self) -> ProgramScorer:
        """Load the program, once a process.

        Raises
        ------
        InputError
            When its source is not the one that was hashed, or cannot be run.
        """
        return ProgramScorer(self._of_a_response(), self.name)

    def _of_a_response(self) -> Callable[..., Any]:
        function = _function(self)
        try:
            inspect.signature(function).bind("", "")
        except TypeError as error:
            path = str(_source(self.folder, self.module))
            raise InputError(
                f"{self.function} must take (response, answer): {error}", path=path
            ) from error
        except ValueError:  # a function of C that does not say what it takes
            pass
        return function

    def reward(self) -> tuple[Callable[..., Any], bool]:
        """Load the program as a component of a training reward.

        Returns
        -------
        function : callable
            Of a response and the answer, or what TRL calls with a batch.
        batched : bool
            Whether it is TRL's kind: it has a parameter ``completions``.

        Raises
        ------
        InputError
            As `scorer` does.
        """
        function = _function(self)
        try:
            batched = "completions" in inspect.signature(function).parameters
        except ValueError:
            batched = False
        return (function, True) if batched else (self._of_a_response(), False)


def reward_program(
    folder: Path, name: str, key: str = "reward", others: Sequence[str] = ()
) -> RewardProgram:
    """Find the source of a reward and hash it.

    Parameters
    ----------
    key : str
        The setting that names it, for messages.
    others : sequence of str
        Names without a module that the setting takes too, for messages.

    Raises
    ------
    UsageError
        When the name is none, is another module's too, or there is no such module, or the
        package that it is in cannot be imported.
    """
    module, _, function = name.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), function)):
        known = f"{', '.join(others)} or " if others else ""
        raise UsageError(f"{key}: must be {known}'module:function', not {name!r}")
    home = str(folder.resolve())
    if _beside(home, module) and _taken(home, module.partition(".")[0]):
        raise UsageError(f"{key}: {module!r} is an installed module's name; rename the file")
    try:
        source = _source(home, module)
    except (Exception, SystemExit) as error:  # of the package around it, which is imported first
        raise UsageError(f"{key}: {module!r} cannot be found: {described(error)}") from error
    if source is None:
        raise UsageError(f"{key}: no module {module!r} beside the study file or installed")
    return RewardProgram(home, module, function, _sha256(source))


class ProgramScorer:
    """The user's function as a scorer; what is neither a truth value nor a score is refused."""

    def __init__(self, function: Callable[[str, str], Any], name: str) -> None:
        self.function = function
        self.name = name
        self.__name__ = name.partition(":")[2]

    def __call__(self, response: str, answer: str) -> Score:
        """Score one response.

        Raises
        ------
        WrongVerdict
            When the function returns something else than True, False or a sound Score.
        """
        verdict = self.function(response, answer)
        if isinstance(verdict, bool):
            return Score(verdict, None)
        if not isinstance(verdict, Score):
            shown = " ".join(reprlib.repr(verdict).split())
            raise WrongVerdict(f"{self.name} returned {shown}, not True, False or a Score")
        if not isinstance(verdict.correct, bool) or verdict.parsed not in (True, False, None):
            raise WrongVerdict(f"{self.name} returned {verdict}, whose parts are not True or False")
        if verdict.correct and verdict.parsed is False:
            raise WrongVerdict(f"{self.name} returned a right response without an answer in it")
        return verdict


class WrongVerdict(TypeError):  # noqa: N818 - named for what was returned
    """A reward that returned something which says neither right nor wrong."""


def _source(folder: str, module: str) -> Path | None:
    beside = _beside(folder, module)
    if beside is not None:
        return beside
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None


def _beside(folder: str, module: str) -> Path | None:
    stem = Path(folder, *module.split("."))
    files = (stem.with_name(f"{stem.name}.py"), stem / "__init__.py")
    return next((path for path in files if is_file(path)), None)


def _taken(folder: str, name: str) -> bool:
    """Whether Python has a module of that name without the folder."""
    elsewhere = [e for e in sys.path if e not in _PLACED and str(Path(e).resolve()) != folder]
    found = PathFinder.find_spec(name, elsewhere)
    # A folder that merely has the name is found without a loader.
    return name in sys.stdlib_module_names or bool(found and found.loader)


_PLACED: set[str] = set()  # folders of studies that this process has had on its module path


def _on_path(folder: str) -> None:
    _PLACED.add(folder)
    sys.path[:] = [*(entry for entry in sys.path if entry not in _PLACED), folder]
    importlib.invalidate_caches()


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(error.strerror or str(error), path=str(path)) from error


@cache
def _function(program: RewardProgram) -> Callable[[str, str], Any]:
    _on_path(program.folder)
    path = _source(program.folder, program.module)
    if path is None:
        raise InputError(f"no module {program.module!r} here", path=program.folder)
    if _sha256(path) != program.sha256:
        raise InputError("not the reward program that the study started with", path=str(path))
    try:
        module = _run(program, path)
    except (Exception, SystemExit) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(
            f"cannot be imported: {type(error).__name__}: {reason}", path=str(path)
        ) from error
    function = getattr(module, program.function, None)
    if not callable(function):
        raise InputError(f"has no function {program.function!r}", path=str(path))
    found: Callable[[str, str], Any] = function
    return found


def _run(program: RewardProgram, path: Path) -> ModuleType:
    if _beside(program.folder, program.module) is None:
        return importlib.import_module(program.module)
    # Run from its source, not from a cache or another study's module of that name, so that the
    # code which judges is the code that was hashed.
    spec = spec_from_file_location(program.module, path)
    if spec is None:
        raise ImportError("not Python")
    module = module_from_spec(spec)
    sys.modules[program.module] = module  # where dataclasses and pickle look
    exec(compile(path.read_bytes(), path, "exec"), module.__dict__)
    return module
