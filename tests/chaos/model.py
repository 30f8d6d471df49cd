"""How often a customer may have entered a journey, computed from the jobs alone. Pure."""

from dataclasses import dataclass

from tests.chaos.tenants import Course


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One customer in one journey, once everything is decided and walked."""

    jobs: int  # that were decided
    enrolled: int
    active: int
    completed: int
    exited: int
    pro: bool = True

    @property
    def entries(self) -> int:
        return self.active + self.completed + self.exited


def contradiction(course: Course, pair: Pair) -> str | None:
    """What the pair says that these rules and so many jobs, one after the other, cannot come to."""
    least, most = _entries(course, pair)
    if pair.entries != pair.enrolled:
        return f"{pair.entries} entries of {pair.enrolled} enrolled jobs"
    if not least <= pair.entries <= most:
        return f"{pair.entries} entries of {pair.jobs} jobs, where {least} to {most} are possible"
    if pair.active > 1:
        return f"{pair.active} active at once"
    if course.rule == "number" and pair.completed > (course.entries or 1):
        return f"{pair.completed} completed, where {course.entries} are allowed"
    if course.rule not in {"number", "until_left"} and pair.exited:
        return f"{pair.exited} exited, where nothing exits"
    return None


def _entries(course: Course, pair: Pair) -> tuple[int, int]:
    """The fewest and the most entries that the jobs can have led to."""
    number = course.entries or 1
    some = min(pair.jobs, 1)
    match course.rule:
        case "number_at_once":
            return min(pair.jobs, number), min(pair.jobs, number)
        case "once":
            return some, some
        case "number":
            return min(pair.jobs, number), pair.jobs
        case "always_at_once":
            return pair.jobs, pair.jobs
        case "one_at_a_time" | "until_left":
            return some, pair.jobs
        case "if_pro":
            return (pair.jobs, pair.jobs) if pair.pro else (0, 0)
        case "unless_held_out":
            return 0, pair.jobs
