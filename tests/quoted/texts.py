"""Numbers in texts: which there are, which of them come from a recorded result, and which are neither.

A *quote* is a piece of a text with places for numbers, ``{source:path:format}``:

    HR-UCB ends at {reproduce:policies/released/hr-ucb-k5:pm0}

It must stand in the text exactly as it reads with the recorded values filled in. A *block*, between ``<!-- numbers: NAME -->``
and ``<!-- /numbers -->``, is a table that is written whole (:mod:`tests.quoted.blocks`). Every other number of a text
must match one of ``settings`` in ``quotes.toml``: sizes, symbols, references. What comes from a source that has not been recorded
yet reads "?".
"""

import json
import re
import tomllib
from pathlib import Path
from typing import NamedTuple

from tests.quoted.blocks import BLOCKS, UNRECORDED
from tests.quoted.formats import FORMATS

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "experiments" / "reference" / "quoted"
QUOTES = Path(__file__).parent / "quotes.toml"

_PLACE = re.compile(r"\{(?P<source>[\w-]+):(?P<path>[^{}:]+):(?P<format>\w+)\}")
# What may stand in a place before it is rewritten: a number with what belongs to it, or the name of a policy.
_ONE = r"(?:−?(?:\d+(?: \d{3})*(?:\.\d+)?|∞)|\?)"
_OLD = rf"({_ONE}(?:\s+±\s+{_ONE}|\s+\[{_ONE},\s+{_ONE}\])?)"
_OLD_NAME = r"(`[\w-]+`|\?)"
# Code, addresses and comments are not looked at.
_HIDDEN = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)]*\)|<!--.*?-->|https?://\S+", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w^_.])[−-]?(?:\d+(?: \d{3})*(?:[.,]\d+)*|\.\d+)")
_BLOCK = re.compile(r"<!-- numbers: (?P<name>[\w-]+) -->\n(?P<body>.*?)<!-- /numbers -->", re.DOTALL)


class Text(NamedTuple):
    """A text, and what is said of its numbers."""

    path: Path
    quotes: list[str]
    settings: list[str]  # regular expressions

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT)) if self.path.is_relative_to(ROOT) else self.path.name

    def read(self) -> str:
        return self.path.read_text(encoding="utf-8")


def texts(file: Path = QUOTES, root: Path = ROOT) -> list[Text]:
    """Return the texts whose numbers are checked."""
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    return [
        Text(root / name, table["quotes"], data["settings"] + table["settings"])
        for name, table in data["text"].items()
    ]


def records(folder: Path = RECORDS) -> dict:
    """Return the recorded results by source."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}


def value(recorded: dict, source: str, path: str):
    """Return a recorded value by its path."""
    found = recorded[source]["values"]
    for part in path.split("/"):
        found = found[int(part) if isinstance(found, list) else part]
    return found


def problems(text: Text, recorded: dict) -> list[str]:
    """Return what is wrong with the numbers of a text, one line each."""
    written, found, name = text.read(), [], text.name
    covered = [match.span() for match in _HIDDEN.finditer(written)]
    for block in _BLOCK.finditer(written):
        covered.append(block.span())
        if block["body"] != BLOCKS[block["name"]](recorded):
            found.append(f"{name}: the block {block['name']} is not what the records say")
    for quote in text.quotes:
        match = _pattern(quote, recorded).search(written)
        if match is None:
            found.append(f"{name}: does not read: {_filled(quote, recorded)}")
        else:
            covered += [match.span(group + 1) for group in range(len(match.groups()))]
    # Settings match however lines are wrapped.
    flat = written.replace("\n", " ")
    for setting in text.settings:
        covered += [match.span() for match in re.finditer(setting, flat)]
    for number in _NUMBER.finditer(written):
        if not any(start <= number.start() and number.end() <= end for start, end in covered):
            line = written.count("\n", 0, number.start()) + 1
            around = " ".join(written[max(0, number.start() - 30) : number.end() + 30].split())
            found.append(f"{name}:{line}: {number[0]} is neither quoted nor a setting: …{around}…")
    return found


def rewritten(text: Text, recorded: dict) -> str:
    """Return the text with every quote and block as the records say."""
    written = _BLOCK.sub(
        lambda block: (
            f"<!-- numbers: {block['name']} -->\n{BLOCKS[block['name']](recorded)}<!-- /numbers -->"
        ),
        text.read(),
    )
    for quote in text.quotes:
        matches = list(_pattern(quote).finditer(written))
        if len(matches) != 1:
            raise ValueError(
                f"{text.name} must have these words once, has them {len(matches)} times: {quote}"
            )
        (match,) = matches
        places = list(_PLACE.finditer(quote))
        for group in range(len(places), 0, -1):
            start, end = match.span(group)
            new = _render(places[group - 1], recorded)
            # A number that is wrapped over two lines stays as it is.
            if " ".join(written[start:end].split()) != new:
                written = written[:start] + new + written[end:]
    return written


def _pattern(quote: str, recorded: dict | None = None) -> re.Pattern:
    """Return the pattern of a quote: with the recorded values, or with any numbers, where there are none."""
    parts, last = [], 0
    for place in _PLACE.finditer(quote):
        parts.append(_words(quote[last : place.start()]))
        old = _OLD_NAME if place["format"] == "name" else _OLD
        parts.append(old if recorded is None else f"({_words(_render(place, recorded))})")
        last = place.end()
    # A number that goes on would be another number.
    return re.compile("".join([*parts, _words(quote[last:])]) + r"(?![\d]|\.\d)")


def _filled(quote: str, recorded: dict) -> str:
    return _PLACE.sub(lambda place: _render(place, recorded), quote)


def _render(place: re.Match, recorded: dict) -> str:
    if place["source"] not in recorded:
        return UNRECORDED
    return FORMATS[place["format"]](value(recorded, place["source"], place["path"]))


def _words(text: str) -> str:
    """Return the pattern of some words, wrapped anyhow."""
    return r"\s+".join(re.escape(part) for part in re.split(r"\s+", text))
