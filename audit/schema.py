"""The contracts of files: where a document breaks its schema, and which keys that does not name.

The schemas lie in ``schemas/``; that of a results file is meant where none is named.
``jsonschema_rs`` judges every value; this module only decides where to look and says in words what
was found. A fault is looked for from the root down, into what is not valid alone, so that a file
with a million faults costs no more memory than one with a hundred (asked for all errors at once,
the library keeps the instance with each of them).
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from typing import Any

from audit.errors import did_you_mean
from audit.pointer import from_parts, join, natural_key, parts
from audit.resources import resource

MOST_FAULTS = 200
# How alike two keys are, as a share of their letters, for one to be a misspelling of the other.
_SPELT_ALIKE = 0.85
_LONGEST_VALUE = 60
_SLICE = 1024
RESULTS = "results.v2"  # the name of its schema
_BELOW = frozenset({"properties", "items", "additionalProperties", "propertyNames", "oneOf"})
_ANNOTATIONS = frozenset({"$schema", "$id", "$comment", "$defs", "title", "description"}) | {
    "default",
    "examples",
}


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """One place where a document breaks the schema.

    ``pointer`` is the JSON Pointer of the value, ``keyword`` the JSON Schema keyword it breaks;
    two keywords are ours: ``json`` (not plain JSON, so that nothing can be judged) and ``limit``
    (more faults than are listed), both at the root. ``message`` is a clause in plain
    words, ``expected`` and ``actual`` are short texts.
    """

    pointer: str
    keyword: str
    message: str
    expected: str
    actual: str


def schema_faults(
    document: Any, limit: int = MOST_FAULTS, schema: str = RESULTS
) -> list[SchemaFault]:
    """Return where a document breaks the schema, in the order of the pointers, then keywords.

    Parameters
    ----------
    document : object
        A parsed JSON document.
    limit : int
        Most faults that are listed: the first in document order. Where there are more, a last
        fault at the root with the keyword ``limit`` says so.
    schema : str
        Name of the schema, e.g. ``"policy"``.

    Returns
    -------
    list of SchemaFault
        Empty where the document keeps the contract.
    """
    try:
        faults = list(islice(_faults(_schema(schema).root, document, ""), limit + 1))
    except (ValueError, TypeError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        message = f"the document cannot be judged: {_shortened(reason)}"
        return [SchemaFault("", "json", message, "plain JSON", "")]
    more = len(faults) > limit
    listed = sorted(faults[:limit], key=lambda fault: (natural_key(fault.pointer), fault.keyword))
    if more:
        message = f"more than {limit} faults; only the first {limit} of the file are listed"
        listed.append(SchemaFault("", "limit", message, "none", f"more than {limit}"))
    return listed


def unknown_keys(document: Any, limit: int = MOST_FAULTS) -> list[str]:
    """Return pointers of the keys that the schema does not name, in document order.

    A key that recurs in blocks of one kind (each step, each run) is given once, at its first place.
    Blocks whose keys are the author's own, such as ``protocol`` or ``method_metrics``, have none.

    Parameters
    ----------
    document : object
        A parsed JSON document, valid or not.
    limit : int
        Most pointers returned.
    """
    found: dict[tuple[int, str], str] = {}
    _note_unknown(_schema(RESULTS).root, document, [], found, limit)
    return list(found.values())


def nearest_key(document: Any, pointer: str) -> str | None:
    """Return the key that an unknown one was probably meant to be, and that is not there itself.

    Parameters
    ----------
    document : object
        A parsed JSON document.
    pointer : str
        Place of the unknown key, as `unknown_keys` gives it.
    """
    from difflib import get_close_matches

    *parents, key = parts(pointer)
    node: _Node | None = _schema(RESULTS).root
    value = document
    for token in parents:
        if node is None:
            return None
        if isinstance(value, list):
            node, value = node.items, value[int(token)]
        else:
            node, value = node.members.get(token, node.others), value[token]
    absent = () if node is None else [name for name in node.members if name not in value]
    known = {_letters(name): name for name in absent}
    near = get_close_matches(_letters(key[:100]), known, 1, _SPELT_ALIKE)
    return known[near[0]] if near else None


def _letters(key: str) -> str:
    """Return a key without case, punctuation and letters of other scripts, which look like ours."""
    plain = unicodedata.normalize("NFKC", key).casefold()
    return "".join(char for char in plain if char.isascii() and char.isalnum())


def keys_of(block: str) -> frozenset[str]:
    """Return the keys that the schema names in one kind of block, e.g. ``claim``."""
    return frozenset(published_schema(RESULTS)["$defs"][block]["properties"])


def keeps_to_named_keys(document: Any) -> bool:
    """Return whether a document keeps the contract and holds no key that the schema does not name.

    One pass in place of :func:`schema_faults` and :func:`unknown_keys`, which then have nothing
    to say; False in doubt.
    """
    try:
        return bool(_closed_schema().is_valid(document))
    except (ValueError, TypeError, RecursionError):
        return False


@cache
def published_schema(name: str) -> dict[str, Any]:
    """Return one JSON Schema of ``schemas/``, e.g. ``"policy"``; treat it as read-only."""
    text = resource(f"schemas/{name}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def results_schema() -> dict[str, Any]:
    """Return the JSON Schema of a results file; treat it as read-only."""
    return published_schema(RESULTS)


class _Schema:
    """One schema: its root, and a node for each definition, made when first asked for."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.definitions: dict[str, Any] = document.get("$defs", {})
        self._named: dict[str, _Node] = {}
        self.root = _Node(document, self)

    def node(self, fragment: dict[str, Any]) -> _Node:
        """Return the node of a fragment; beside a ``$ref`` our schemas have annotations only."""
        reference = fragment.get("$ref")
        if not reference:
            return _Node(fragment, self)
        name = reference.rpartition("/")[2]
        if name not in self._named:
            self._named[name] = _Node(self.definitions[name], self)
        return self._named[name]


@cache
def _schema(name: str) -> _Schema:
    return _Schema(published_schema(name))


class _Node:
    """One place of a schema: its own keywords, and what stands below it."""

    def __init__(self, fragment: dict[str, Any], schema: _Schema) -> None:
        self.fragment = fragment
        self.schema = schema

    @cached_property
    def whole(self) -> Any:
        """Validator of a value and all below it."""
        return _validator({**self.fragment, "$defs": self.schema.definitions})

    @cached_property
    def entries(self) -> Any:
        """Validator of the entries of a list, whatever its length."""
        return _validator({"items": self.fragment["items"], "$defs": self.schema.definitions})

    @cached_property
    def own(self) -> tuple[tuple[str, Any], ...]:
        """Each keyword about the value itself, with a validator of that keyword alone."""
        keywords = self.fragment.keys() - _BELOW - _ANNOTATIONS
        return tuple((word, _validator({word: self.fragment[word]})) for word in sorted(keywords))

    @cached_property
    def members(self) -> dict[str, _Node]:
        """Nodes of the keys the schema names."""
        below = self.fragment.get("properties", {})
        return {key: self.schema.node(fragment) for key, fragment in below.items()}

    @cached_property
    def others(self) -> _Node | None:
        """Node of all further keys, where the schema says what they hold."""
        below = self.fragment.get("additionalProperties")
        return self.schema.node(below) if isinstance(below, dict) else None

    @cached_property
    def items(self) -> _Node | None:
        """Node of the entries of a list."""
        return self.schema.node(self.fragment["items"]) if "items" in self.fragment else None

    @cached_property
    def names(self) -> _Node | None:
        """Node of the names that keys may have."""
        names = self.fragment.get("propertyNames")
        return self.schema.node(names) if names else None

    @cached_property
    def kinds(self) -> tuple[str, dict[str, _Node]]:
        """The key by whose constant the branches of ``oneOf`` are told apart, and each branch."""
        key, branches = "", {}
        for node in map(self.schema.node, self.fragment.get("oneOf", ())):
            key = next(k for k, below in node.members.items() if "const" in below.fragment)
            branches[node.members[key].fragment["const"]] = node
        return key, branches

    def kind(self, value: Any) -> _Node | None:
        """Return the branch that a value belongs to, else one that asks for the key to say so."""
        key, branches = self.kinds
        if not branches:
            return None
        named = value.get(key) if isinstance(value, dict) else None
        if isinstance(named, str) and named in branches:
            return branches[named]
        choice = {"required": [key], "properties": {key: {"enum": list(branches)}}}
        return self.schema.node({"type": "object", **choice})

    @cached_property
    def names_its_keys(self) -> bool:
        """Whether a key that the schema does not name is worth a word."""
        return bool(self.members) and "additionalProperties" not in self.fragment

    @cached_property
    def nested(self) -> bool:
        """Whether anything below names its keys."""
        below = [*self.members.values(), self.others, self.items]
        return any(node.names_its_keys or node.nested for node in below if node)

    @cached_property
    def integer(self) -> bool:
        """Whether a number here is an integer."""
        return "integer" in _listed(self.fragment.get("type"))

    @cached_property
    def counts(self) -> bool:
        """Whether the schema wants an integer here or anywhere below."""
        below = [*self.members.values(), self.others, self.items]
        return self.integer or any(node.counts for node in below if node)

    def below(self, value: Any) -> Iterator[tuple[str | int, Any, _Node]]:
        """Yield key, value and node of what lies below a value of whatever type."""
        if isinstance(value, dict):
            for key, member in value.items():
                node = self.members.get(key, self.others)
                if node is not None:
                    yield key, member, node
        elif isinstance(value, list) and self.items is not None:
            for index, item in enumerate(value):
                yield index, item, self.items


def with_whole_numbers(document: dict[str, Any]) -> dict[str, Any]:
    """Return a valid document with ``3.0`` as the integer 3 wherever the schema wants an integer.

    JSON Schema calls both an integer, and writers that pass numbers through floats give the first.
    The document itself is returned where it has none; else what changed is copied.
    """
    if _no_whole_floats().is_valid(document):
        return document
    copied: dict[str, Any] = _whole_numbers(_schema(RESULTS).root, document)
    return copied


def _validator(schema: dict[str, Any]) -> Any:
    return _validator_of("https://json-schema.org/draft/2020-12/schema", schema)


def _validator_of(draft: str, schema: dict[str, Any]) -> Any:
    import jsonschema_rs

    return jsonschema_rs.validator_for({"$schema": draft, **schema})


@cache
def _closed_schema() -> Any:
    """Return the validator of the schema with each block that names its keys closed to others."""
    definitions = {name: _closed(below) for name, below in results_schema()["$defs"].items()}
    return _validator({**_closed(results_schema()), "$defs": definitions})


def _closed(fragment: dict[str, Any]) -> dict[str, Any]:
    closed = dict(fragment)
    if "properties" in fragment and "additionalProperties" not in fragment:
        closed["additionalProperties"] = False
    if "properties" in fragment:
        closed["properties"] = {k: _closed(below) for k, below in fragment["properties"].items()}
    for keyword in ("items", "additionalProperties"):
        if isinstance(fragment.get(keyword), dict):
            closed[keyword] = _closed(fragment[keyword])
    return closed


@cache
def _no_whole_floats() -> Any:
    """Return a validator that refuses a float wherever the schema wants an integer.

    In draft 4 ``3.0`` is no integer yet (section 3.5 of its core).
    """
    definitions = {name: _integers(below) for name, below in results_schema()["$defs"].items()}
    schema = {**_integers(results_schema()), "$defs": definitions}
    return _validator_of("http://json-schema.org/draft-04/schema#", schema)


def _integers(fragment: dict[str, Any]) -> dict[str, Any]:
    """Return what a fragment says about integers alone, here and below; other types may stand."""
    said: dict[str, Any] = {}
    if "$ref" in fragment:
        said["$ref"] = fragment["$ref"]
    if "integer" in _listed(fragment.get("type")):
        said["type"] = [name for name in _TYPES if name != "number"]
    if "properties" in fragment:
        said["properties"] = {k: _integers(below) for k, below in fragment["properties"].items()}
    for keyword in ("items", "additionalProperties"):
        if isinstance(fragment.get(keyword), dict):
            said[keyword] = _integers(fragment[keyword])
    return said


def _faults(node: _Node, value: Any, here: str) -> Iterator[SchemaFault]:
    if node.whole.is_valid(value):
        return
    for keyword, validator in node.own:
        if not validator.is_valid(value):
            yield from _described(keyword, node.fragment, value, here)
    if isinstance(value, dict):
        yield from _key_faults(node, value, here)
    branch = node.kind(value)
    if branch is not None:
        yield from _faults(branch, value, here)
    for token, member, below in _suspects(node, value):
        yield from _faults(below, member, join(here, token))


def _key_faults(node: _Node, value: dict[str, Any], here: str) -> Iterator[SchemaFault]:
    """Yield the keys that a closed block does not know, and those of a form they may not have."""
    if node.fragment.get("additionalProperties") is False:
        known = list(node.members)
        for key in [key for key in value if key not in node.members]:
            message = f"unknown key{did_you_mean(key, known)}"
            expected = _one_of([_shown(name) for name in known])
            yield SchemaFault(join(here, key), "additionalProperties", message, expected, key)
    if node.names is not None:
        for key in value:
            yield from _faults(node.names, key, join(here, key))


def _suspects(node: _Node, value: Any) -> Iterator[tuple[str | int, Any, _Node]]:
    """Yield what lies below, passing over slices of a list that are valid as a whole."""
    if not isinstance(value, list) or node.items is None:
        yield from node.below(value)
        return
    for start in range(0, len(value), _SLICE):
        part = value[start : start + _SLICE]
        if not node.entries.is_valid(part):
            for index, item in enumerate(part, start):
                yield index, item, node.items


def _whole_numbers(node: _Node, value: Any) -> Any:
    if node.integer:
        return int(value) if isinstance(value, float) else value
    if not node.counts or not isinstance(value, dict | list):
        return value
    copied: Any = copy(value)
    for token, member, below in node.below(value):
        copied[token] = _whole_numbers(below, member)
    return copied


def _note_unknown(
    node: _Node, value: Any, path: list[str | int], found: dict[tuple[int, str], str], limit: int
) -> None:
    if _has_unknown(node, value):
        for key in value:
            place = (id(node), key)
            if key not in node.members and place not in found and len(found) < limit:
                found[place] = from_parts([*path, key])
    if not node.nested:
        return
    for token, member, below in node.below(value):
        if below.nested or _has_unknown(below, member):
            path.append(token)
            _note_unknown(below, member, path, found, limit)
            path.pop()


def _has_unknown(node: _Node, value: Any) -> bool:
    return (
        node.names_its_keys and isinstance(value, dict) and not value.keys() <= node.members.keys()
    )


def _described(
    keyword: str, fragment: dict[str, Any], value: Any, here: str
) -> Iterator[SchemaFault]:
    wanted = fragment[keyword]
    if keyword == "required":
        for key in wanted:
            if key not in value:
                message = f"the key {key!r} is missing"
                yield SchemaFault(here, keyword, message, f"the key {key!r}", _shown(value))
        return
    expected, message = _in_words(keyword, wanted, fragment, value)
    yield SchemaFault(here, keyword, message, expected, _shown(value))


def _in_words(keyword: str, wanted: Any, fragment: dict[str, Any], value: Any) -> tuple[str, str]:
    """Return what was expected, and the clause that says what is wrong."""
    shown = _shown(value)
    match keyword:
        case "type":
            expected = _one_of([_TYPES[name] for name in _listed(wanted)])
            return expected, f"expected {expected}, got {_kind(value)}"
        case "const":
            return _shown(wanted), f"expected {_shown(wanted)}, got {shown}"
        case "enum":
            expected = _one_of([_shown(choice) for choice in wanted])
            return expected, f"expected {expected}, got {shown}"
        case "pattern":
            example = _shown(fragment["examples"][0])
            return f"text like {example}", f"{shown} does not have the form of {example}"
        case "anyOf":
            choices = _one_of([choice["title"] for choice in wanted])
            return choices, f"expected {choices}"
        case "uniqueItems":
            return "distinct entries", f"expected distinct entries, got {shown}"
        case "minItems" | "maxItems":
            expected = f"{_BOUNDS[keyword]} {wanted} {'entry' if wanted == 1 else 'entries'}"
            return expected, f"expected {expected}, got {shown}"
        case "minLength":
            expected = f"{_BOUNDS[keyword]} {_counted(wanted, 'character')}"
            return expected, f"expected {expected}, got {shown}"
    bound = f"{_BOUNDS[keyword]} {wanted}"
    return bound, f"expected a number {bound}, got {shown}"


_BOUNDS = {
    "minimum": "not below",
    "maximum": "not above",
    "exclusiveMinimum": "above",
    "exclusiveMaximum": "below",
    "minItems": "at least",
    "maxItems": "at most",
    "minLength": "at least",
}
_TYPES = {
    "string": "a string",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _one_of(choices: list[str]) -> str:
    *first, last = choices
    return f"{', '.join(first)} or {last}" if first else last


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float() if not math.isfinite(value):
            return "a number that is not finite"
        case float() if not value.is_integer():
            return "a number with a fraction"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
    return "an object"


def _shown(value: Any) -> str:
    match value:
        case list():
            return f"a list of {len(value)}"
        case dict():
            return f"an object with {_counted(len(value), 'key')}"
        case str():
            most = _LONGEST_VALUE - 2  # what is cut keeps its closing quote
            cut = value if len(value) <= most else value[: most - 3] + "..."
            return json.dumps(cut, ensure_ascii=False)
        case int() if value.bit_length() > _LONGEST_VALUE * 3:
            return f"a whole number of {value.bit_length()} bits"
    return _shortened(json.dumps(value))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."
