"""How recorded values are written in texts."""

from functools import partial

from hrprob.comparison.estimates import decisive_digits


def number(x, digits=0):
    """Return a number with spaces between thousands, and a minus sign."""
    return f"{x:,.{digits}f}".replace(",", " ").replace("-", "−")


def with_error(entry, digits=0):
    """Return mean ± standard error."""
    return f"{number(entry['mean'], digits)} ± {number(entry['se'], digits)}"


def with_interval(entry, digits=0, value=0):
    """Return mean [low, high], with more digits where these would round one of them across ``value``."""
    ends = {"mean": "∞", "low": "−∞", "high": "∞"}
    known = [entry[key] for key in ends if entry[key] is not None]
    digits = decisive_digits(known, [value], digits)
    mean, low, high = (end if entry[key] is None else number(entry[key], digits) for key, end in ends.items())
    return f"{mean} [{low}, {high}]"


def negated(entry, digits=0):
    """Return −mean [−high, −low]: the difference taken the other way round."""
    flipped = {"mean": -entry["mean"], "low": -entry["high"], "high": -entry["low"]}
    return with_interval(flipped, digits)


def ratio(entry, digits=2):
    """Return a ratio, to be compared with 1, and its interval."""
    return with_interval(entry, digits, value=1)


FORMATS = {"text": str, "name": "`{}`".format}
for digits in range(5):
    FORMATS |= {
        f"n{digits}": partial(number, digits=digits),
        f"mean{digits}": lambda entry, digits=digits: number(entry["mean"], digits),
        f"pm{digits}": partial(with_error, digits=digits),
        f"ci{digits}": partial(with_interval, digits=digits),
        f"neg{digits}": partial(negated, digits=digits),
        f"ratio{digits}": partial(ratio, digits=digits),
        f"percent{digits}": lambda share, digits=digits: number(100 * share, digits),
    }
