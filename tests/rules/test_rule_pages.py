"""The pages of the rules are in plain words, and complete."""

from __future__ import annotations

import re

import pytest

from audit.rules import CATALOGUE, Rule

# Turns of phrase that a native reader stumbles over.
_FOREIGN = re.compile(
    r"\banew\b|\bnought\b|\bstands? twice\b|\bis due\b|\btask by task\b|\bholds? zero\b"
    r"|\b\w+s an arm\b"
    r"|\b(one|three|[0-9]+) \w+ an? (task|arm|run|seed|step|batch|group|response)\b"
    r"|\bmade again\b|\bis none the\b",
    re.IGNORECASE,
)


@pytest.mark.parametrize("rule", CATALOGUE, ids=lambda rule: rule.id)
def test_a_page_is_complete_and_in_plain_words(rule: Rule) -> None:
    page = (rule.statement, rule.why, rule.fix, rule.bad, rule.good, rule.missing)
    assert all(page)
    assert [found for text in page for found in _FOREIGN.findall(text)] == []
    assert all(text.endswith((".", "…", '"', "}", ")", "]")) for text in (rule.statement, rule.why))
    assert len(rule.summary) < 200


def test_ids_are_of_one_form_and_in_order_within_their_family() -> None:
    seen: dict[str, int] = {}
    for rule in CATALOGUE:
        number = int(rule.id.removeprefix(rule.family))
        assert re.fullmatch(r"[A-Z]+[0-9]{3}", rule.id)
        assert number > seen.get(rule.family, 0)
        seen[rule.family] = number
