"""The checkout whose service is started: this one, or another commit's, made for the run."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_LOCK = "requirements-dev.txt"


@dataclass(frozen=True, kw_only=True)
class Tree:
    """A checkout, with the Python that has its dependencies installed."""

    name: str  # the commit
    root: Path
    python: Path

    def run(self, *arguments: str, environment: dict[str, str]) -> str:
        """What its Python prints, given these arguments."""
        command = [str(self.python), *arguments]
        done = subprocess.run(command, cwd=self.root, env=environment, check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout


def this_tree() -> Tree:
    """This checkout as it stands, with what is not committed."""
    try:
        name = _git("describe", "--always", "--dirty")
    except (OSError, subprocess.CalledProcessError):
        name = "this one"
    return Tree(name=name, root=ROOT, python=Path(sys.executable))


def commit_of(revision: str) -> str:
    """The commit's short name. Raises ValueError where there is no such commit."""
    try:
        return _git("rev-parse", "--short", "--verify", "--quiet", f"{revision}^{{commit}}")
    except (OSError, subprocess.CalledProcessError):
        raise ValueError(f"{revision!r} is no commit of this repository.") from None


@contextmanager
def checked_out(commit: str) -> Iterator[Tree]:
    """The commit in a worktree below the system's temporary folder, without its dependencies; removed at the end."""
    with tempfile.TemporaryDirectory(prefix="engage-base-") as folder:
        root = Path(folder) / "tree"
        _git("worktree", "add", "--quiet", "--detach", str(root), commit)
        try:
            yield Tree(name=commit, root=root, python=root / ".venv" / "bin" / "python")
        finally:
            _git("worktree", "remove", "--force", str(root))


def install(tree: Tree) -> None:
    """Gives the tree what it depends on: this one's where that is the same, else a virtual environment of its own."""
    ours = Path(sys.prefix)
    if (tree.root / _LOCK).read_bytes() == (ROOT / _LOCK).read_bytes() and (ours / "bin" / "python").exists():
        (tree.root / ".venv").symlink_to(ours)
        return
    environment = {**os.environ, "PYTHON": sys.executable}
    subprocess.run([".ci/install", _LOCK], cwd=tree.root, env=environment, check=True)


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()
