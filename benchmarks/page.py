"""The tables of the documentation's page on speed, written between its marks from the results."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT

__all__ = ["PAGE", "filled", "write_page"]

PAGE = Path(ROOT, "docs", "reference", "benchmarks.md")
_MARK = re.compile(r"(<!-- benchmark: (\w+) -->\n).*?(<!-- /benchmark -->)", re.DOTALL)


def write_page(results: dict[str, Any]) -> None:
    """Write the tables of all studies that there are results of."""
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")


def filled(text: str, results: dict[str, Any]) -> str:
    """Return the page with its tables; a study without results reads so."""

    def block(match: re.Match[str]) -> str:
        name = match[2]
        known = results.get(name)
        table = "Not measured yet.\n" if known is None else f"{TABLES[name](known)}\n\n{_setting(known)}\n"
        return f"{match[1]}{table}{match[3]}"

    return _MARK.sub(block, text)


def _setting(known: dict[str, Any]) -> str:
    machine = known["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in known["versions"].items() if version)
    return f"Measured on {machine['processor']}, {machine['cores']} cores, load {machine['load']}; Python {machine['python']}, {versions}."


def _table(head: list[str], rows: list[list[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
    return "–" if value is None else str(value)


def _regret(entry: dict[str, Any]) -> str:
    error = entry.get("regret_se")
    return f"{entry['regret']:.0f}" if error is None else f"{entry['regret']:.0f} ± {error:.0f}"


def _paper(known: dict[str, Any]) -> str:
    limit, base = known["limit"], known["policies"]["hr-ucb"]["microseconds"]
    unit = limit["microseconds"] if limit else None
    ratio = lambda cost: cost / unit if unit else None  # noqa: E731
    rows: list[list[Any]] = []
    if limit:
        rows.append(["C limit, HR-UCB", unit, 1.0, unit / base, None, _regret(limit)])
    for name, entry in known["policies"].items():
        cost = entry["microseconds"]
        sized = name if entry["users"] == 30000 else f"{name}, first {entry['users']} users"
        rows.append([sized, cost, ratio(cost), cost / base, entry["compilation"], _regret(entry)])
    files = known["run with files"]["microseconds"]
    rows.append(["hr-ucb, `hrprob run` with its files", files, ratio(files), files / base, None, None])
    textbook = known["numpy"]["cpu"] * 1e6
    rows.append(
        [
            f"HR-UCB in NumPy, refitted from its sample, first {known['numpy']['users']} users",
            textbook,
            ratio(textbook),
            textbook / base,
            None,
            None,
        ]
    )
    return _table(
        ["", "µs per user", "× C limit", "× HR-UCB", "compilation, s", "regret at the last user"], rows
    )


def _peers(known: dict[str, Any]) -> str:
    ours = known["hrprob"]["20 actions"]["linucb"]["microseconds"]
    rows: list[list[Any]] = []
    for name, entry in known["libraries"].items():
        if "missing" in entry:
            rows.append([f"{name}: not installed", *[None] * 6])
            continue
        many, few = entry["20 actions"], entry["5 arms"]
        rows.append(
            [
                name,
                many["microseconds"],
                many["microseconds"] / ours,
                many["median"],
                many["p99"],
                None,
                _regret(few),
            ]
        )
    for name, entry in known["hrprob"]["20 actions"].items():
        regret = _regret(known["hrprob"]["5 arms"][name])
        rows.append(
            [
                f"hrprob {name}, simulation",
                entry["microseconds"],
                entry["microseconds"] / ours,
                *[None] * 3,
                regret,
            ]
        )
    for name, entry in known["hrprob"]["live"].items():
        times = entry["median"], entry["p99"], entry.get("cpu_p99")
        rows.append([f"hrprob {name}, live", None, None, *times, None])
    head = [
        "",
        "CPU µs per user",
        "× hrprob LinUCB",
        "decision + update, median µs",
        "99th percentile, µs",
        "the same of CPU time",
        "regret, 5 arms",
    ]
    return _table(head, rows)


def _sampling(known: dict[str, Any]) -> str:
    rows: list[list[Any]] = []
    for name in ("nuts, users", "nuts, rounds", "blackjax, users", "nutpie, users"):
        entry = known[name]
        if "missing" in entry:
            rows.append([f"{name}: {entry['missing']}", *[None] * 4])
        else:
            rows.append(
                [
                    name,
                    entry["ess"],
                    entry["cpu"],
                    entry["per cpu second"],
                    entry["compilation"],
                ]
            )
    first = _table(["", "least effective draws", "CPU s", "per CPU second", "compilation, s"], rows)
    rows = [
        [
            name,
            entry["cpu"],
            entry["compilation"],
            entry["largest shift"],
            f"{entry['least sd ratio']:.2f} to {entry['largest sd ratio']:.2f}",
        ]
        for name, entry in known["engines"].items()
    ]
    particles = known["particles, users"]
    rows.append(
        [
            "particles (IBIS)",
            particles.get("cpu"),
            particles.get("compilation"),
            None,
            particles.get("missing"),
        ]
    )
    head = ["", "CPU s", "compilation, s", "largest shift from nuts, sd", "ratio of sds to nuts"]
    return f"{first}\n\n{_table(head, rows)}"


def _growth(known: dict[str, Any]) -> str:
    rows: list[list[Any]] = []
    for name in ("users", "dimension", "actions", "trials"):
        entry = known[name]
        interval = f"{entry['exponent']:.2f} ({entry['low']:.2f} to {entry['high']:.2f})"
        sizes = " / ".join(map(str, entry["sizes"]))
        rows.append([name, sizes, " / ".join(_cell(cost) for cost in entry["cpu"]), interval])
    memory = "; ".join(f"{peak:.0f} MB at {int(users)} users" for users, peak in known["memory"].items())
    table = _table(["grown", "sizes", "CPU s", "exponent, 95 % interval"], rows)
    return f"{table}\n\nPeak memory of 100 trials, each 1000th user kept: {memory}."


def _long(known: dict[str, Any]) -> str:
    rows = [
        [policy, int(users), cost["start-up"], cost["cpu"], cost["memory"]]
        for policy, by_users in known["policies"].items()
        for users, cost in by_users.items()
    ]
    return _table(
        [f"{known['trials']} trials", "users", "start-up, CPU s", "beyond it, CPU s", "peak memory, MB"], rows
    )


def _startup(known: dict[str, Any]) -> str:
    rows = [
        [name, *(entry[start][kind] for start in ("cold", "warm") for kind in ("wall", "cpu"))]
        for name, entry in known.items()
        if isinstance(entry, dict) and "cold" in entry
    ]
    return _table(["", "cold: wall s", "CPU s", "with the cache: wall s", "CPU s"], rows)


TABLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "paper": _paper,
    "peers": _peers,
    "sampling": _sampling,
    "growth": _growth,
    "long": _long,
    "startup": _startup,
}
