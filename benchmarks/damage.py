"""Damaged copies of a file's content; the tests and `benchmarks/faults.py` read them."""

import random


def damaged(content: bytes, seed: int) -> bytes:
    """Change, insert and cut bytes in a few places; the same in every run."""
    draw = random.Random(seed)
    copy = bytearray(content)
    for _ in range(draw.choice((1, 1, 1, 2, 5))):
        at, length = draw.randrange(len(copy) + 1), draw.choice((0, 1, 1, 2, 9, 99))
        noise = draw.choice((b"", draw.randbytes(1), draw.randbytes(9), b"\xff" * 4, b"[" * 99))
        copy[at : at + length] = noise
    if draw.random() < 0.1:
        del copy[draw.randrange(len(copy) + 1) :]
    return bytes(copy)


def damaged_within(content: bytes, seed: int) -> bytes:
    """Change bytes between the ends of a large file, whose length stays."""
    draw = random.Random(seed)
    copy = bytearray(content)
    quarter = len(copy) // 4
    at = draw.randrange(quarter, 3 * quarter + 1)
    noise = draw.choice((draw.randbytes(1), draw.randbytes(400), b"\xff" * 400, b"\x00" * 64))
    copy[at : at + len(noise)] = noise[: len(copy) - at]
    return bytes(copy)
