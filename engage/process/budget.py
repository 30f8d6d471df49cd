"""How much processor time what tenants have written may take, whatever it is given: conditions, schemas, templates.

A budget holds for all that is done within it: `with Budget(CALL)`. One within another draws from both. Whoever works
for long says so (`spend`), and the thread's own clock is looked at now and then; what is small never costs a look, and
never fails unless twice the time is up. Where nobody has made a budget, an expression has one of its own.

It counts while an expression works, not between: what we do ourselves is nobody's fault.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from time import thread_time
from typing import Self

from engage.errors import Refusal

# Seconds of an enrollment's turn, of an attempt at a webhook, of a call, and of each item more of a call for many.
TURN = ATTEMPT = 0.1
CALL = 0.3
ITEM = 0.005
# Of a call for many altogether: it may have customers locked, and PostgreSQL ends a session that asks for nothing
# within a transaction for five seconds.
LONGEST = 1.5
PARTS = 3  # one journey or message of several gets no more than a third
_UNITS_PER_LOOK = 256
_SECONDS_PER_UNIT = 5e-7  # what units are taken for that came before the first look
_GRACE = 2


class OverBudget(Refusal):
    """A condition, a schema or a template takes more processor time than it may; the message begins with the place."""

    status = 422
    error = "Takes too long"

    def __init__(self, seconds: float) -> None:
        self.figure = f"more than {seconds * 1000:.0f} ms of processor time"
        super().__init__(f"takes {self.figure}.")

    def of(self, place: str, doing: str = "") -> Self:
        """Itself, about what stands at this place, or about doing something with it: `: to check it`."""
        self.message = f"{place}{doing} {self.message}"
        return self.at(place)

    def __str__(self) -> str:
        return self.message


class Budget:
    """So many seconds of processor time; None: as many as the budget around it has.

    May be entered again and again, and goes on then where it was.
    """

    __slots__ = ("_charged", "_since", "_token", "_units", "around", "limit", "spent")

    def __init__(self, seconds: float | None = None, *, around: "Budget | None" = None) -> None:
        self.around: Budget | None = around or _current.get()
        self.limit: float = seconds or (TURN if self.around is None else self.around.limit)
        self.spent = 0.0
        self._units = self._charged = 0
        self._since: float | None = None

    def __enter__(self) -> Self:
        self._token: Token[Budget | None] = _current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)

    @property
    def left(self) -> float:
        """Seconds, also of those around it."""
        own = self.limit - self.spent
        return own if self.around is None else min(own, self.around.left)

    @property
    def counted(self) -> int:
        """The units of all that was done."""
        return self._charged + self._units

    def begin(self, *, at_once: bool = False) -> Self:
        """An expression begins; `at_once`: what it is given is yet to be made, which costs more than a look.

        Raises OverBudget if there has been far too much already.
        """
        self._since = thread_time() if at_once else None
        if self._units >= _UNITS_PER_LOOK // 2:
            self._charge(self._units * _SECONDS_PER_UNIT, _GRACE)
        return self

    def spend(self, units: int = 1) -> None:
        """To be called before each part of the work; a unit is about a microsecond. Raises OverBudget."""
        self._units += units
        if self._units >= _UNITS_PER_LOOK:
            now = thread_time()
            since, self._since = self._since, now
            self._charge(self._units * _SECONDS_PER_UNIT if since is None else now - since, 1)

    def _charge(self, seconds: float, times: int) -> None:
        """Raises OverBudget where so many times a budget are used up."""
        self._charged += self._units
        self._units = 0
        over: Budget | None = None
        one: Budget | None = self
        while one is not None:
            one.spent += seconds
            if one.spent > one.limit * times:
                over = over or one
            one = one.around
        if over is not None:
            raise OverBudget(over.limit)


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


def current() -> Budget:
    """The budget that holds here; one of a turn's size, where there is none."""
    return _current.get() or Budget()


def third() -> Budget:
    """Of what holds here; of a call's, where nothing does."""
    around = _current.get()
    return Budget((CALL if around is None else around.limit) / PARTS)


@contextmanager
def for_many(items: int) -> Iterator[Budget]:
    """A call's budget, or the one that holds here, with time for each of so many items more."""
    around = _current.get()
    budget = Budget(CALL) if around is None else around
    budget.limit = min(max(budget.limit, LONGEST), budget.limit + ITEM * items)
    with budget if around is None else Budget():
        yield budget


class Thirds:
    """Budgets by whom they are for, so that nobody takes more than a third from the others.

    Where what belongs to several workspaces is done together, a workspace is somebody, too.
    """

    def __init__(self, workspaces: Iterable[str]) -> None:
        self._several = len(set(workspaces)) > 1
        self._made: dict[str, Budget] = {}

    def of(self, workspace_id: str, name: str) -> Budget:
        if name not in self._made:
            around = self._of_workspace(workspace_id) if self._several else current()
            self._made[name] = Budget(around.limit / PARTS, around=around)
        return self._made[name]

    def _of_workspace(self, workspace_id: str) -> Budget:
        if workspace_id not in self._made:
            self._made[workspace_id] = third()
        return self._made[workspace_id]
