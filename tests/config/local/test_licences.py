"""`make licences`: under which licences the dependencies are."""

from pathlib import Path

import pytest

from config import ROOT
from config.local.licences import UNKNOWN, licences, main


def test_each_package_that_is_installed_with_the_service_names_its_licence() -> None:
    found = {one.name: one.licence for one in licences((ROOT / "requirements.txt").read_text())}
    assert len(found) > 40
    assert (found["django"], found["psycopg"]) == ("BSD-3-Clause", "LGPL-3.0-only")
    assert [name for name, licence in found.items() if licence == UNKNOWN] == []


def test_it_prints_a_table_without_packages_of_other_machines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text("django==5.2.19 \\\n    --hash=sha256:0\nfor-another-machine==1.0 ; sys_platform == 'win32'\n")
    main([str(lock)])
    rows = capsys.readouterr().out.splitlines()
    assert rows == ["| Package | Version | Licence |", "| --- | --- | --- |", "| django | 5.2.19 | BSD-3-Clause |"]
