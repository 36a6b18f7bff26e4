"""What is recorded and shown of coverage: likelihood-ratio sets along n, and intervals beside regret."""

import json
from pathlib import Path

from hrprob.numerics.shares import share_interval
from tests.quoted.formats import number, with_error, with_interval

PREDICTIVES = ("weighted", "glse", "laplace")
SHOWN = {"wald": "Wald", "posterior": "posterior", "anytime": "anytime"}


def frontier(folder: Path) -> dict:
    """Return regret, coverage and width of every policy of a frontier."""
    return json.loads((folder / "frontier.json").read_text(encoding="utf-8"))


def frontier_rows(values):
    """Return header and rows: policies by regret, with the worst coverage of each kind of interval of θ and φ."""
    header = ["policy", "regret"]
    header += [f"{name} {sign}" for name in SHOWN.values() for sign in "θφ"]
    header += [f"width of {name} φ" for name in SHOWN.values()]
    rows = []
    for name, found in sorted(values["policies"].items(), key=lambda pair: pair[1]["regret"]["mean"]):
        row = [f"`{name}`", with_error(found["regret"])]
        for kind in SHOWN:
            row += [share(found["coverage"][kind][parameter]) for parameter in ("theta", "phi")]
        row += [number(found["coverage"][kind]["phi"]["width"], 2) for kind in SHOWN]
        rows.append(row)
    return header, rows


def share(found):
    """Return a share in percent with its interval, and a mark where it fails or is undecided."""
    percent = {"mean": 100 * found["worst"], "low": 100 * found["low"], "high": 100 * found["high"]}
    return (
        with_interval(percent, value=85) + {"holds": "", "fails": " ✗", "undecided": " ?"}[found["verdict"]]
    )


def anytime_rows(values):
    """Return header and rows: shares of data sets in which a set ever missed the truth."""
    rows = []
    for noise in ("normal", "student-t", "mixture", "truncated-normal"):
        for design in ("fixed", "greedy", "hr-ucb", "thompson"):
            found = values.get(noise, {}).get(design, {})
            row = [noise if design == "fixed" else "", design]
            for predictive in PREDICTIVES:
                row += missed(found[predictive]) if predictive in found else ["–", "–"]
            row.append(number(min((one["rounds"]["least"] for one in found.values()), default=0)))
            rows.append([*row, fitted(found.get("laplace", {}))])
    header = ["outcomes", "design"]
    for predictive in PREDICTIVES:
        header += [f"`{predictive}`, δ = .1, %", "δ = .05, %"]
    return [*header, "n up to", "draws, growth"], rows


def fitted(found):
    """Return how many draws a predictive averaged over, and by which factor rows grew between two of its fits."""
    return f"{found['draws']}, {found['refit']:g}" if found else ""


def misspecified_rows(values):
    """Return header and rows: how often sets for normal outcomes miss where outcomes are not such."""
    rows = []
    for name, found in values["misspecified"].items():
        shares = [interval(share, found["sets"]) for share in found["missed"].values()]
        parts = [
            f"{round(share * found['tested'])} of {found['tested']}" for share in found["excluded"].values()
        ]
        rows.append([name, *shares, *parts])
    sizes = [number(int(n)) for n in next(iter(values["misspecified"].values()))["missed"]]
    header = ["outcomes", *(f"ever missed up to n = {n}" for n in sizes), "θ\\* excluded", "φ\\* excluded"]
    return header, rows


def missed(found):
    """Return the shares in percent, with intervals."""
    parts = zip(found["missed"], (0.1, 0.05), strict=True)
    return [interval(part, found["sets"], 1, 100 * allowed).removesuffix(" %") for part, allowed in parts]


def interval(part, count, digits=0, value=10):
    """Return a share in percent with its interval, by Clopper and Pearson."""
    low, high = share_interval(round(part * count), count)
    percent = {"mean": 100 * part, "low": 100 * low, "high": 100 * high}
    return with_interval(percent, digits, value=value) + " %"
