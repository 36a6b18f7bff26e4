"""How far a run is: what is being compiled, the share of users served, the time left.

On a terminal it is a bar; elsewhere plain lines, each a few seconds after the one before.
"""

from __future__ import annotations

import sys
import threading
import time
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, Self, TextIO

__all__ = ["Progress", "duration", "print_line"]

# Seconds between two lines; later ones come less often.
_PAUSE, _SLOWER = 2.0, 1.5


if TYPE_CHECKING:
    from tqdm import tqdm


class Progress:
    """Reports the progress of policies that run side by side.

    Parameters
    ----------
    progress : bool or callable
        Show it on stderr, or call this with the number of user-trials just played.
    total : int
        How many user-trials there are, of all policies together.
    """

    def __init__(self, progress: bool | Callable[[int], None], total: int) -> None:
        self._callback = progress if callable(progress) else None
        self._shown = progress is True
        self._total, self._done = total, 0
        self._lock = threading.Lock()
        self._compiling: dict[str, bool] = {}
        self._bar: tqdm | None = None
        self._since = self._next = 0.0
        self._first = 0
        self._pause = _PAUSE

    def __enter__(self) -> Self:
        if self._shown and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=self._total, unit=" users", unit_scale=True, leave=False, desc="starting")
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def note(self, line: str) -> None:
        """Show a line that stays."""
        if self._bar is not None:
            self._bar.write(line, file=sys.stderr)
        elif self._shown:
            print_line(line)

    def compiling(self, name: str) -> None:
        """Say that the programs of a policy are being compiled; only the first call counts."""
        with self._lock:
            if name in self._compiling:
                return
            self._compiling[name] = True
            if self._bar is not None:
                self._describe()
            elif self._shown:
                print_line(f"compiling {name} …")

    def played(self, name: str, users: int) -> None:
        """Say that a policy, which is compiled then, has served ``users`` more users, all trials together."""
        if self._callback is not None:
            self._callback(users)
        with self._lock:
            now = time.perf_counter()
            if not self._done:
                # Time before the first chunk went into compiling.
                self._since, self._first, self._next = now, users, now
            first = self._compiling.get(name, False)
            self._compiling[name] = False
            if self._bar is not None:
                if first:
                    self._describe()
                self._bar.update(users)
            self._done += users
            if self._bar is None and self._shown and now >= self._next and self._done < self._total:
                print_line(self._words(now))
                self._pause *= _SLOWER
                self._next = now + self._pause

    def _describe(self) -> None:
        names = [name for name, still in self._compiling.items() if still]
        assert self._bar is not None
        self._bar.set_description_str(f"compiling {', '.join(names)} …" if names else "", refresh=True)

    def _words(self, now: float) -> str:
        share, since = self._done / self._total, self._done - self._first
        left = (self._total - self._done) * (now - self._since) / since if since else None
        return f"{share:.0%} of the users served" + ("" if left is None else f", about {duration(left)} left")


def duration(seconds: float) -> str:
    """Return a duration in the largest unit that it has two of.

    Examples
    --------
    >>> duration(5.2), duration(150), duration(9000)
    ('5 s', '2.5 min', '2.5 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.2g} min" if seconds < 7200 else f"{seconds / 3600:.2g} h"


def print_line(line: str, stream: TextIO | None = None, end: str = "\n") -> None:
    r"""Print a line, by default on stderr; control characters and what the stream's encoding lacks are replaced.

    Spaces of other kinds, which keep numbers together on pages, become plain ones.

    Examples
    --------
    >>> print_line("66\N{NO-BREAK SPACE}± 16\x1b[2J", sys.stdout)
    66 ± 16?[2J
    """
    stream = sys.stderr if stream is None else stream
    encoding = stream.encoding or "utf-8"
    line = "".join(" " if unicodedata.category(sign) == "Zs" else sign for sign in line)
    line = "".join(sign if sign.isprintable() or sign == "\n" else "?" for sign in line)
    print(line.encode(encoding, errors="replace").decode(encoding), end=end, file=stream, flush=True)
