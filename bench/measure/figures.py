"""Figures that are taken several times, what they come to, and whether that meets a goal."""

import operator
import statistics
from dataclasses import dataclass, field

_comparisons = {"<": operator.lt, "<=": operator.le, ">=": operator.ge}


@dataclass(frozen=True)
class Interval:
    """The middle one of several values, and how far apart they lie."""

    middle: float
    least: float
    greatest: float

    def text(self, factor: float, digits: int) -> str:
        """`12 (11–14)`."""
        middle, least, greatest = (f"{value * factor:.{digits}f}" for value in (self.middle, self.least, self.greatest))
        return f"{middle} ({least}–{greatest})"


def confidence_interval(values: list[float]) -> Interval:
    """The median, and the interval that holds the true median with a confidence of at least 95 %.

    Of n rounds each lies above the true median with a chance of one half, so the k-th least is above it with that of
    fewer than k heads among n tosses. The largest k is taken for which both ends together miss it in at most 5 % of all
    runs; with fewer than six rounds there is none, and the ends are the least and the greatest.

    >>> confidence_interval([5, 1, 9, 3, 7, 2, 8, 4, 6, 10, 12, 11])
    Interval(middle=6.5, least=3, greatest=10)
    >>> confidence_interval([30, 10, 20]).text(0.1, 1)
    '2.0 (1.0–3.0)'
    """
    ordered = sorted(values)
    count, missed, chance, k = len(ordered), 0.0, 2.0 ** -len(ordered), 0
    while 2 * (missed + chance) <= 0.05 and k + 1 <= count / 2:
        missed += chance
        chance *= (count - k) / (k + 1)
        k += 1
    k = max(k, 1)
    return Interval(statistics.median(ordered), ordered[k - 1], ordered[count - k])


@dataclass
class Figures:
    """Values by name, one of each round."""

    values: dict[str, list[float]] = field(default_factory=dict)

    def take(self, name: str, value: float) -> None:
        self.values.setdefault(name, []).append(float(value))

    def take_all(self, name: str, **values: float) -> None:
        """Takes several kinds of figures of one thing: `NAME_rate`, `NAME_us` ..."""
        for kind, value in values.items():
            self.take(f"{name}_{kind}", value)

    def last(self, name: str) -> float:
        return self.values[name][-1]

    def take_ratios(self, name: str, other: str, *kinds: str) -> None:
        """Takes `NAME_to_OTHER_KIND` for the last round of both.

        >>> figures = Figures({"ours_us": [1, 6], "theirs_us": [1, 4]})
        >>> figures.take_ratios("ours", "theirs", "us")
        >>> figures.values["ours_to_theirs_us"]
        [1.5]
        """
        for kind in kinds:
            self.take(f"{name}_to_{other}_{kind}", self.last(f"{name}_{kind}") / self.last(f"{other}_{kind}"))

    def middle(self, name: str) -> float:
        return statistics.median(self.values[name])

    def median(self, name: str, factor: float = 1, digits: int = 0) -> str:
        return f"{self.middle(name) * factor:.{digits}f}"

    def with_range(self, name: str, factor: float = 1, digits: int = 0) -> str:
        """The median, the least and the greatest."""
        values = self.values[name]
        return Interval(statistics.median(values), min(values), max(values)).text(factor, digits)

    def with_interval(self, name: str, factor: float = 1, digits: int = 0) -> str:
        """The median and its confidence interval."""
        return confidence_interval(self.values[name]).text(factor, digits)

    def verdict(self, name: str, comparison: str, goal: float) -> str:
        """Whether the median, unrounded, meets the goal.

        >>> Figures({"ms": [49.9, 50.1, 90]}).verdict("ms", "<", 50)
        '**no**'
        """
        return "yes" if _comparisons[comparison](self.middle(name), goal) else "**no**"

    def reached(self, name: str, comparison: str, goal: float) -> str:
        """Whether the confidence interval reaches the goal.

        >>> figures = Figures({"rate": [1, 2, 3]})
        >>> [figures.reached("rate", ">=", goal) for goal in (2, 3, 4)]
        ['yes', 'within the interval', '**no**']
        >>> [figures.reached("rate", "<=", goal) for goal in (2, 1, 0.5)]
        ['yes', 'within the interval', '**no**']
        """
        compare, interval = _comparisons[comparison], confidence_interval(self.values[name])
        if compare(interval.middle, goal):
            return "yes"
        end = interval.greatest if comparison == ">=" else interval.least
        return "within the interval" if compare(end, goal) else "**no**"
