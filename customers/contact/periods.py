"""Periods of the calendar: `P2Y`, `P6M`, `P30D`. Unlike durations, they count years and months as people do."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

_FORM = re.compile(r"P(?:(\d{1,2})Y)?(?:(\d{1,3})M)?(?:(\d{1,4})D)?")
_MONTHS: Final = 12
LONGEST_YEARS = 10


class InvalidPeriod(ValueError):
    """Why a text is not a period; the message continues a sentence that begins with the place."""


@dataclass(frozen=True)
class Period:
    months: int
    days: int

    def after(self, moment: datetime) -> datetime:
        """The same day of the month, so many months on, or the month's last; then so many days."""
        month = moment.month - 1 + self.months
        year, month = moment.year + month // _MONTHS, month % _MONTHS + 1
        first_of_next = datetime(year + month // _MONTHS, month % _MONTHS + 1, 1)  # noqa: DTZ001 (a day alone is asked)
        last = (first_of_next - timedelta(days=1)).day
        return moment.replace(year=year, month=month, day=min(moment.day, last)) + timedelta(days=self.days)


def parse_period(text: str) -> Period:
    """Raises InvalidPeriod."""
    match = _FORM.fullmatch(text)
    if match is None or not any(match.groups()):
        raise InvalidPeriod("must be a period of years, months and days such as P2Y, P6M or P90D.")
    years, months, days = (int(number or 0) for number in match.groups())
    period = Period(months=years * _MONTHS + months, days=days)
    if period.months + period.days / 30 > LONGEST_YEARS * _MONTHS + 6 or not period.months + period.days:
        raise InvalidPeriod(f"must be from one day to {LONGEST_YEARS} years.")
    return period
