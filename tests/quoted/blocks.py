"""Tables that are written whole, from the recorded results of the suite."""

from pathlib import Path

from hrprob.comparison.growth import measured_error_rates
from hrprob.theory.findings import failure_interval
from tests.quoted.formats import number, ratio, with_error, with_interval
from tests.quoted.inference import anytime_rows, frontier_rows, misspecified_rows
from tests.quoted.logs import LOGS

SUITE = Path(__file__).parents[2] / "experiments" / "suite"
DEFAULT = "contextual-ids"
AS_PRINTED = "as printed"


# What stands for a number whose source has not been recorded yet.
UNRECORDED = "?"


def table(header, rows):
    """Return a Markdown table."""
    lines = ["| " + " | ".join(row) + " |" for row in [header, *rows]]
    return "\n".join([lines[0], "|" + "---|" * len(header), *lines[1:]]) + "\n"


def suite_problems(recorded):
    """Return the problems of the suite: what each asks, who is best, how the default and others fare."""
    shown = ("greedy", "hr-ucb-released", "hr-ucb-from-bounds", "thompson")
    rows = []
    for name, problem in recorded["suite"]["values"]["problems"].items():
        asks = (SUITE / f"{name}.toml").read_text(encoding="utf-8").splitlines()[0].strip("# .")
        regret = problem["regret"]
        rows.append(
            [
                f"`{name}`",
                asks,
                with_error(regret[problem["best"]]),
                f"`{problem['best']}`",
                with_error(regret[DEFAULT]),
                ratio(problem["ratio"][DEFAULT]),
                *(number(regret[policy]["mean"]) for policy in shown),
            ]
        )
    header = ["problem", "what it asks", "least", "by", f"`{DEFAULT}`", "ratio [95 %]"]
    return table([*header, *(f"`{policy}`" for policy in shown)], rows)


# HR-UCB by the width of its sets: those with a claim to a proof first.
WIDTHS = (
    "hr-ucb-likelihood-ratio",
    "hr-ucb-paper",
    "hr-ucb-corrected",
    "hr-ucb-from-bounds",
    "hr-ucb-released",
    "hr-ucb-calibrated",
    "hr-ucb-exact",
)


def suite_widths(recorded):
    """Return the regrets of HR-UCB with each width, by problem; a random choice for comparison."""
    shown = (*WIDTHS, "random")
    rows = [
        [
            f"`{name}`",
            *(
                with_error(problem["regret"][policy]) if policy in problem["regret"] else UNRECORDED
                for policy in shown
            ),
        ]
        for name, problem in recorded["suite"]["values"]["problems"].items()
    ]
    return table(["problem", *(f"`{policy}`" for policy in shown)], rows)


def _ranks(values):
    return [
        [
            f"`{rank['policy']}`",
            str(rank["problems"]),
            number(rank["mean_rank"]["mean"], 1),
            number(rank["median_ratio"], 2),
            ratio(rank["worst_ratio"]),
            f"`{rank['worst_problem']}`",
            ratio(rank["typical"]),
        ]
        for rank in values["ranks"]
    ]


_HEADER = [
    "policy",
    "problems",
    "mean rank",
    "median ratio",
    "worst ratio [95 %]",
    "on",
    "typical ratio [95 %]",
]


def suite_ranks(recorded):
    """Return the policies over the suite, smallest worst ratio first."""
    return table(_HEADER, _ranks(recorded["suite"]["values"]))


def held_out_ranks(recorded):
    """Return the policies over the random problems, smallest typical ratio first."""
    values = recorded["held-out"]["values"]
    ordered = sorted(values["ranks"], key=lambda rank: rank["typical"]["mean"])
    return table(_HEADER, _ranks({"ranks": ordered}))


def coverage(recorded):
    """Return how often the sets of calibrated radii contained the truth."""
    rows = []
    for label, entry in recorded["coverage"]["values"].items():
        if label == AS_PRINTED:
            # It covered in every trial.
            continue
        for parameter, sign in (("theta", "θ"), ("phi", "φ")):
            shares = [*entry[parameter]["coverage"], entry[parameter]["always"]]
            name = label if parameter == "theta" else ""
            rows.append([name, sign, *(number(share, 2) for share in shares)])
    return table(["policy, outcomes", "parameter", "user 30", "100", "300", "1 000", "at all four"], rows)


# What a fault of the record is called, where its name there says less than it should.
FAULT_NAMES = {"variance 30 % too small": "link 30 % too small"}
# So many kinds of checks that fail are named, and those that fail as often as the last of these.
NAMED = 4


def checks_faults(recorded):
    """Return how often each fault is found by the quick part of check, by number of users."""
    rows = []
    for name, sizes in recorded["checks"]["values"]["faults"].items():
        for users, found in sizes.items():
            failed = sorted(found["fails"].items(), key=lambda pair: -pair[1])
            least = failed[:NAMED][-1][1] if failed else 0
            rows.append(
                [
                    FAULT_NAMES.get(name, name) if users == min(sizes, key=int) else "",
                    users,
                    f"{found['no']} of {found['pages']}",
                    str(found["cannot tell"]),
                    str(found["yes"]),
                    ", ".join(f"`{kind}` {count}" for kind, count in failed if count >= least) or "–",
                ]
            )
    return table(["fault", "users", "answered no", "cannot tell", "yes", "failed most often"], rows)


def checks_sound(recorded):
    """Return how often sound pages fail."""
    values = recorded["checks"]["values"]["sound"]
    rows = []
    for name, sizes in (values["problems"] | {"**all**": values["total"]}).items():
        for users, one in sizes.items():
            low, high = (number(100 * end, 1) for end in failure_interval(one["no"], one["pages"]))
            share = f"{number(100 * one['no'] / one['pages'], 1)} % [{low}, {high}]"
            first = name if users == min(sizes, key=int) else ""
            rows.append(
                [first, users, *(str(one[end]) for end in ("pages", "no")), share]
                + [str(one[end]) for end in ("yes", "cannot tell")]
            )
    header = ["problem", "users", "pages", "no (false alarm)", "share [95 % interval]", "yes", "cannot tell"]
    return table(header, rows)


def engines(recorded):
    """Return how many fits of each engine are within the targets, warned of, or neither, by model."""
    rows = []
    for engine, by_model in recorded["engines"]["values"]["rates"].items():
        for model, one in by_model.items():
            rows.append(
                [
                    f"`{engine}`" if model == next(iter(by_model)) else "",
                    "**all**" if model == "all" else f"`{model}`",
                    *(str(one[name]) for name in ("fits", "within", "warned", "silent", "needless")),
                    number(one["shift"], 2),
                    f"{number(one['least'], 2)} to {number(one['most'], 2)}",
                ]
            )
    header = [
        "engine",
        "outcomes",
        "fits",
        "within",
        "off, warned",
        "off, silent",
        "within, warned",
        "largest shift",
    ]
    return table([*header, "ratios of sds"], rows)


def claims(recorded):
    """Return the verdicts on the paper's claims, by setting."""
    settings = ["released settings", "as the text has it"]
    rows = []
    for claim, verdicts in recorded["reproduce"]["values"]["verdicts"].items():
        own = [setting for setting in verdicts if setting not in settings]
        if own:
            rows += [[f"{claim} ({setting})", verdicts[setting], ""] for setting in own]
        else:
            rows.append([claim, *(verdicts.get(setting, "–") for setting in settings)])
    return table(["claim", *settings], rows)


def growth(recorded):
    """Return the verdicts of the growth tests on policies whose growth is known."""
    rows = []
    for case in measured_error_rates()["cases"]:
        shares = [case[test][end] for test in ("linear", "sublinear") for end in ("wrong", "undecided")]
        rows.append(
            [
                f"{case['policy']}, {case['problem']}",
                case["growth"],
                number(case["users"]),
                *(f"{number(100 * share, 1)} %" for share in shares),
            ]
        )
    return table(
        ["policy", "growth", "users", "linear: wrong", "undecided", "sublinear: wrong", "undecided"], rows
    )


def forgetting(recorded):
    """Return the regret with and without forgetting, by drift and policy."""
    rows = []
    for drift, policies in recorded["forgetting"]["values"].items():
        for policy, found in policies.items():
            for way in ("discount", "window"):
                entry, first = found[way], way == "discount"
                rows.append(
                    [
                        drift if first and policy == "greedy" else "",
                        f"`{policy}`" if first else "",
                        with_error(found["remembering"]) if first else "",
                        way,
                        with_error(entry),
                        with_interval(entry["difference"]),
                        ratio(entry["ratio"]),
                    ]
                )
    heads = ["truth", "policy", "remembers all", "forgets by", "regret", "difference", "ratio"]
    return table(heads, rows)


def logs(recorded):
    """Return how often intervals from logs cover the truth, by how the log was made."""
    rows = []
    for design, methods in recorded["logs"]["values"].items():
        for method, found in methods.items():
            told = found["logs"] >= LOGS // 10
            shares = (
                {"mean": 100 * found["share"], "low": 100 * found["low"], "high": 100 * found["high"]}
                if told
                else {}
            )
            rows.append(
                [
                    design if method == "replay" else "",
                    f"`{method}`",
                    number(found["logs"]),
                    f"{with_interval(shares, 1, value=95)} %" if told else "refused",
                ]
            )
    return table(["log", "method", "logs that tell", "intervals that cover"], rows)


def anytime(recorded):
    """Return how often likelihood-ratio sets ever missed the truth."""
    return table(*anytime_rows(recorded["anytime"]["values"]))


def misspecified(recorded):
    """Return how often likelihood-ratio sets miss where outcomes are not as assumed."""
    return table(*misspecified_rows(recorded["anytime"]["values"]))


def frontier(recorded):
    """Return what inference costs on one action set."""
    return table(*frontier_rows(recorded["frontier-every"]["values"]))


def _recorded(source, make):
    """Return a block that waits for the record of its source."""

    def block(recorded):
        missing = f"{UNRECORDED} (`python -m tests.quoted refresh {source}` writes this table)\n"
        return make(recorded) if source in recorded else missing

    return block


BLOCKS = {
    "claims": _recorded("reproduce", claims),
    "growth": growth,
    "suite-problems": _recorded("suite", suite_problems),
    "suite-ranks": _recorded("suite", suite_ranks),
    "suite-widths": _recorded("suite", suite_widths),
    "held-out-ranks": _recorded("held-out", held_out_ranks),
    "coverage": _recorded("coverage", coverage),
    "forgetting": _recorded("forgetting", forgetting),
    "logs": _recorded("logs", logs),
    "anytime": _recorded("anytime", anytime),
    "misspecified": _recorded("anytime", misspecified),
    "frontier": _recorded("frontier-every", frontier),
    "checks-faults": _recorded("checks", checks_faults),
    "checks-sound": _recorded("checks", checks_sound),
    "engines": _recorded("engines", engines),
}
