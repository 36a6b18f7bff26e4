"""The size of the run, and how its JSON files are read."""

import json

USERS, TRIALS = 2500, 4


def load(path):
    def refuse(token):
        raise AssertionError(f"{token} is no JSON")

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
