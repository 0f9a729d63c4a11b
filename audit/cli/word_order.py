"""Options before, between or after paths, whatever order argparse would have them in."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def paths_last(command: argparse.ArgumentParser, words: Sequence[str]) -> list[str]:
    """Return the words of a command line with its options first and its paths after them.

    argparse takes all positional words at the first place where one stands, so that a path after
    an option would be left over.

    Parameters
    ----------
    command : argparse.ArgumentParser
        The parser of the command, which knows which options take a value.
    words : sequence of str
        What follows the command's name.

    Returns
    -------
    list of str
        The same words; unchanged where an option is not known, so that argparse names it.
    """
    options: list[str] = []
    paths: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*options, "--", *paths, *rest]
        if word == "-" or not word.startswith("-"):
            paths.append(word)
            continue
        known, takes_value = _meaning(command, word)
        if not known:
            return list(words)
        options.append(word)
        if takes_value and rest:
            options.append(rest.pop(0))
    return [*options, *paths]


def _meaning(command: argparse.ArgumentParser, word: str) -> tuple[bool, bool]:
    """Return whether an option is known, and whether the next word is its value."""
    actions = command._option_string_actions
    name, glued, _ = word.partition("=")
    fitting = [option for option in actions if option.startswith(name)]
    if name in actions:
        action = actions[name]
    elif word.startswith("--") and len({id(actions[option]) for option in fitting}) == 1:
        action = actions[fitting[0]]  # an abbreviation
    elif not word.startswith("--") and word[:2] in actions:
        # -oFILE holds its value; of flags in one word (-qv) the last may take one.
        action = actions[word[:2]]
        if action.nargs == 0 and word[-2:-1] != "-":
            last = actions.get(f"-{word[-1]}")
            return last is not None, last is not None and last.nargs != 0
        return True, False
    else:
        return False, False
    return True, action.nargs != 0 and not glued
