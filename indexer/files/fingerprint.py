"""Says whether a file still holds what was read from it, from its first and last bytes before an offset.

Identity decides cost, unique keys decide correctness: a wrong "same file" loses data, a wrong "new
file" only reads again. So any doubt (short file, short read, odd lengths) answers "not the same".
Why two marks: a forked session starts with copied history, so the head alone is not enough; short
lines repeat, so the tail alone is not enough. Inode numbers prove nothing: ext4 hands a freed one
out again at once (500 of 500, tailing.md 1g). 1,024 and 64 bytes cost about 7 us a file together.

Not seen, by design: an edit between head and tail mark that keeps every length.

The hashes are keyed (`key`, see redaction_key): they stand in the database, and a plain hash of 64 known bytes
with a password among them would tell the password to whoever tries enough of them.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import NamedTuple

HEAD = 1024
TAIL = 64
DIGEST = 16


class Fingerprint(NamedTuple):
    """blake2b-16 of the first `head_len` bytes and of the last `tail_len` bytes before an offset.

    Lengths grow with the offset up to 1,024 and 64, so that a file of one line is known at once.
    """

    head_len: int
    head_hash: bytes
    tail_len: int
    tail_hash: bytes


def take(fd: int, offset: int, key: bytes = b"") -> Fingerprint:
    """The marks of what was read up to `offset`. Raises OSError.

    A file cut shorter meanwhile gives a fingerprint that will match nothing: it is then read anew.
    """
    head, tail = min(offset, HEAD), min(offset, TAIL)
    return Fingerprint(head, _digest(fd, 0, head, key), tail, _digest(fd, offset - tail, tail, key))


def matches(fd: int, size: int, offset: int, fp: Fingerprint, key: bytes = b"") -> bool:
    """Whether reading may go on at `offset` of the open file, `size` bytes long. Raises OSError.

    Offset 0 always matches: nothing was read yet.
    """
    if offset == 0:
        return True
    if not (0 < fp.head_len <= offset <= size and 0 < fp.tail_len <= offset):
        return False
    if _digest(fd, offset - fp.tail_len, fp.tail_len, key) != fp.tail_hash:
        return False
    return _digest(fd, 0, fp.head_len, key) == fp.head_hash


def _digest(fd: int, start: int, length: int, key: bytes) -> bytes:
    return blake2b(os.pread(fd, length, start), digest_size=DIGEST, key=key).digest()
