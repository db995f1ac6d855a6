# SPDX-License-Identifier: Apache-2.0
"""Drives the fuzz targets in Python (arrow_fuzz.py, pickle_fuzz.py), which have a function of bytes, as those in C have.

    TARGET.py FILE...                 runs it over these inputs, as tests do
    TARGET.py --random N SEED FOLDER  N inputs drawn from those in FOLDER, without coverage
    TARGET.py --libfuzzer OPTION...   searches by coverage, with libFuzzer's options; needs atheris (pip)
"""

import os
import random
import sys
from typing import Any, Callable, List, Sequence

SEARCHES = sys.argv[1:2] == ["--libfuzzer"]
if SEARCHES:
    import atheris

    with atheris.instrument_imports(include=["tessera"]):
        import tessera
else:
    import tessera

__all__ = ["Input", "main", "tessera"]


class Input:
    """The bytes of an input as numbers and choices. Behind its end there are zeros."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        taken = self.data[self.at : self.at + count]
        self.at += count
        return taken + bytes(count - len(taken))

    def byte(self) -> int:
        return self.take(1)[0]

    def choose(self, choices: Sequence[Any]) -> Any:
        return choices[self.byte() % len(choices)]

    def one_in(self, n: int) -> bool:
        """Whether a byte says so; a zero does not."""
        return self.byte() % n == n - 1


def _drawn(seeds: List[bytes], rng: random.Random) -> bytes:
    data = bytearray(rng.choice(seeds) if seeds and rng.random() < 0.9 else rng.randbytes(rng.randrange(200)))
    for _ in range(rng.randrange(8)):
        at, how = rng.randrange(len(data) + 1), rng.randrange(5)
        if how == 0:
            data[at:at] = rng.randbytes(rng.randrange(1, 9))
        elif how == 1:
            del data[at : at + rng.randrange(1, 9)]
        elif at < len(data):
            data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256), data[at] ^ 1 << rng.randrange(8)))
    return bytes(data)


def _read(paths: Sequence[str]) -> List[bytes]:
    made = []
    for path in paths:
        with open(path, "rb") as file:
            made.append(file.read())
    return made


def main(target: Callable[[bytes], None]) -> None:
    if SEARCHES:
        atheris.Setup([sys.argv[0]] + sys.argv[2:], target)
        atheris.Fuzz()
    elif sys.argv[1:2] == ["--random"]:
        rng, folder = random.Random(int(sys.argv[3])), sys.argv[4]
        seeds = _read(sorted(os.path.join(folder, name) for name in os.listdir(folder)))
        for i in range(int(sys.argv[2])):
            data = _drawn(seeds, rng)
            try:
                target(data)
            except BaseException:
                print(f"input {i}, in hexadecimal digits: {data.hex()}", file=sys.stderr)
                raise
        print(f"{sys.argv[2]} inputs")
    else:
        for path, data in zip(sys.argv[1:], _read(sys.argv[1:])):
            print(path, flush=True)  # names the one that crashes
            target(data)
        print(f"{len(sys.argv) - 1} inputs")
