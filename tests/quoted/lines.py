"""Results of a long study, one JSON object per line: written as they come, read when the study goes on."""

import json
from pathlib import Path


def read_lines(file: Path) -> list[dict]:
    """Return what a file has; nothing where there is none, and not the half of a line that a killed process left."""
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True) if file.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def add_line(file: Path, row: dict) -> None:
    """Append one result, in place of half a line."""
    with file.open("ab+") as stream:
        stream.seek(0)
        stream.truncate(stream.read().rfind(b"\n") + 1)
        stream.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
