"""Check or refresh the numbers in texts.

python -m tests.quoted check                    are all numbers in the texts those that are recorded?
python -m tests.quoted refresh [SOURCE ...]     run the commands again, record, and rewrite the texts
python -m tests.quoted record SOURCE DIR        record a folder that a command has already written, and rewrite the texts
python -m tests.quoted texts                    rewrite the texts from what is recorded
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from hrprob._core.files import whole_file
from tests.quoted.sources import SOURCES
from tests.quoted.texts import RECORDS, problems, records, rewritten, texts


def check() -> int:
    """Print what is wrong; return how much that is."""
    recorded = records()
    found = [problem for text in texts() for problem in problems(text, recorded)]
    print(*found, sep="\n")
    for name, record in recorded.items():
        print(f"{name}: {record['what']} ({record['command']})")
    return len(found)


def record(name: str, folder: Path, play: bool) -> None:
    """Record a source, and rewrite the figure that shows it."""
    content = SOURCES[name].record(name, folder, play)
    RECORDS.mkdir(exist_ok=True)
    with whole_file(RECORDS / f"{name}.json") as path:
        path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for figure, place in SOURCES[name].figures.items():
        with whole_file(place) as path:
            path.write_bytes((folder / figure).read_bytes())


def rewrite() -> None:
    """Rewrite all texts from the records."""
    recorded = records()
    for text in texts():
        written = rewritten(text, recorded)
        with whole_file(text.path) as path:
            path.write_text(written, encoding="utf-8")


def main() -> int:
    """Do what was asked; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.quoted", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", help="are all numbers in the texts those that are recorded?")
    commands.add_parser("texts", help="rewrite the texts from what is recorded")
    again = commands.add_parser("refresh", help="run the commands again, record, rewrite the texts")
    again.add_argument(
        "sources", nargs="*", choices=[*SOURCES, []], metavar="SOURCE", help=", ".join(SOURCES)
    )
    one = commands.add_parser("record", help="record a folder that a command has written")
    one.add_argument("source", choices=SOURCES)
    one.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "refresh":
        for name in arguments.sources or SOURCES:
            with tempfile.TemporaryDirectory() as folder:
                record(name, Path(folder, "out"), play=True)
    if arguments.command == "record":
        record(arguments.source, arguments.folder, play=False)
    if arguments.command != "check":
        rewrite()
    return 1 if check() else 0


if __name__ == "__main__":
    sys.exit(main())
