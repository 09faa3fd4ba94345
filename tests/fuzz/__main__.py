"""`python -m tests.fuzz`: look for bytes that break something, for a given time (docs/reference/fuzzing.md)."""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from tests.fuzz.seeds import keep, kept
from tests.fuzz.target import load, names

SECONDS = 600
"""For all targets together, unless told otherwise."""
REPORT_S = 10
"""Seconds between two lines of progress."""
INPUT_MAX = 4_096
"""Bytes of the longest input that is tried."""
INPUT_TIMEOUT_S = 10
"""One input that takes longer is a finding."""
MEMORY_MB = 1_024
"""A target that takes more is a finding."""
CRASHERS = Path(".fuzz")
"""Where findings are kept."""
ROOT = Path(__file__).parents[2]
_PROGRESS = re.compile(r"#(\d+)\s.*cov: (\d+)")


def main(argv: Sequence[str] | None = None) -> int:
    """Fuzz what was asked for. Returns 1 if something broke."""
    asked = _parse(argv)
    if asked.replay is not None:
        data = asked.replay.read_bytes() if asked.replay.exists() else bytes.fromhex(str(asked.replay))
        load(asked.target).run(data)
        print(f"{asked.target}: nothing breaks")
        return 0
    if find_spec("atheris") is None:
        print(
            "Fuzzing takes atheris, which is there for Linux on x86_64: pip install atheris", file=sys.stderr
        )
        return 2
    chosen = [asked.target] if asked.target else names()
    broken = 0
    for name in chosen:
        broken += hunt(name, max(1, asked.seconds // len(chosen)), keeping=asked.keep)
    print(f"{len(chosen)} targets, {broken} of them broken")
    return 1 if broken else 0


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=SECONDS, help=f"for all targets together ({SECONDS})")
    parser.add_argument("--target", choices=names(), help="this one only")
    parser.add_argument("--keep", action="store_true", help="add what reached new code to the kept corpus")
    parser.add_argument(
        "--replay", type=Path, metavar="FILE", help="read a crasher, or its hex digits, again"
    )
    asked = parser.parse_args(argv)
    if asked.replay is not None and asked.target is None:
        parser.error("--replay takes --target too")
    return asked


def hunt(name: str, seconds: int, *, keeping: bool) -> bool:
    """Fuzz one target. True if it broke."""
    with tempfile.TemporaryDirectory(prefix="tinyssb-fuzz-") as folder:
        corpus, crashers = Path(folder) / "corpus", Path(folder) / "crash"
        corpus.mkdir()
        crashers.mkdir()
        for data in [*load(name).seeds(), *kept(name)]:
            (corpus / sha256(data).hexdigest()).write_bytes(data)
        code, said = _watch(name, [
            str(corpus), f"-max_total_time={seconds}", f"-artifact_prefix={crashers}/", f"-max_len={INPUT_MAX}",
            f"-timeout={INPUT_TIMEOUT_S}", f"-rss_limit_mb={MEMORY_MB}",
        ])  # fmt: skip
        if keeping and code == 0:
            _keep(name, corpus)
        found = [_save(name, crasher) for crasher in sorted(crashers.iterdir())]
    if code == 0:
        return False
    print("\n".join(said))
    for file in found:
        print(f'BROKEN: {name}\n  again: make fuzz ARGS="--target {name} --replay {file}"', flush=True)
    return True


def _watch(name: str, words: Sequence[str]) -> tuple[int, list[str]]:
    """Run libFuzzer and tell how far it is. Returns its code, and the last it said."""
    said: list[str] = []
    begun_s = told_s = time.monotonic()
    progress = "0 inputs"
    with subprocess.Popen(
        [sys.executable, "-m", "tests.fuzz.hunt", name, *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said = [*said[-39:], line.rstrip()]
            if (step := _PROGRESS.match(line)) is not None:
                progress = f"{int(step[1]):,} inputs, {int(step[2]):,} branches"
            if time.monotonic() - told_s >= REPORT_S:
                told_s = time.monotonic()
                print(f"{name}: {progress}, {told_s - begun_s:.0f} s", flush=True)
    print(f"{name}: {progress}, {time.monotonic() - begun_s:.0f} s", flush=True)
    return process.returncode, said


def _keep(name: str, corpus: Path) -> None:
    """Keep what reached code that no shorter input reached: libFuzzer leaves nothing else in its folder."""
    begun_with = {bytes(data) for data in load(name).seeds()}
    found = {file.read_bytes() for file in corpus.iterdir()} - begun_with
    print(f"{name}: {keep(name, found)} inputs kept", flush=True)


def _save(name: str, crasher: Path) -> Path:
    CRASHERS.mkdir(exist_ok=True)
    file = CRASHERS / f"{name}-{crasher.name}"
    file.write_bytes(crasher.read_bytes())
    return file


if __name__ == "__main__":
    sys.exit(main())
