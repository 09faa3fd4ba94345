import subprocess
import sys

import pytest

from tests.architecture.sources import ROOT


def cuts(*arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "tests.pzp.database.cuts", *arguments]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.stderr == ""
    return run.returncode, run.stdout


# A sync fails in the second and the twenty-fourth: one of the file that is being made, and one of names.
@pytest.mark.gcc
@pytest.mark.parametrize("seed", [1, 2, 24])
def test_a_power_cut_takes_nothing_that_was_committed(seed: int) -> None:
    assert cuts(str(seed), str(seed), "24") == (0, "cuts: 24, broken: 0\n")


@pytest.mark.gcc
def test_a_database_that_does_not_sync_is_found_out() -> None:
    code, said = cuts("1", "1", "24", "careless")
    assert code == 1
    assert "BROKEN: seed 1" in said
