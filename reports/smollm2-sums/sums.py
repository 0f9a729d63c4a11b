"""The grader of the study, and the partial credit that one of its arms is rewarded with besides."""

import re

from audit.training.rewards import Score

_NUMBER = re.compile(r"\s*(\d+)\s*")
_FAR = 10


def right(response: str, answer: str) -> Score:
    """Right when the first line is the sum alone; unparsed where it is no number."""
    number = first_line(response)
    return Score(number == int(answer), number is not None)


def near(response: str, answer: str) -> float:
    """1 for the sum, a tenth less for each unit that the first line is off; 0 for no number."""
    number = first_line(response)
    return 0.0 if number is None else max(0.0, 1 - abs(number - int(answer)) / _FAR)


def first_line(response: str) -> int | None:
    """Return the number that is the first line of the response, or None where it is no number."""
    found = _NUMBER.fullmatch(response.partition("\n")[0])
    return int(found[1]) if found else None
