"""`python -m tests.fuzz.hunt TARGET [libFuzzer's words]`: one target, for as long as libFuzzer is told."""

import sys

import atheris

with atheris.instrument_imports(include=["tinyssb_node", "firmware_bridge"]):
    from tests.fuzz.target import load

    TARGET = load(sys.argv[1])


def main() -> None:
    """Fuzz; libFuzzer ends the process."""
    atheris.Setup([sys.argv[0], *sys.argv[2:]], TARGET.run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
