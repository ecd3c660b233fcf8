"""The training text of the bundled model: public-domain books, the end of each held out."""

import gzip
from dataclasses import dataclass
from pathlib import Path

from divbench.core.errors import InputError
from divbench.core.files import sha256_of

HELD_OUT = 0.05  # share of each book's characters, at its end
MAX_BOOK_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Book:
    """One book."""

    name: str
    sha256: str  # SHA-256 of the file
    train: str
    held_out: str


def read_books(folder: Path) -> list[Book]:
    """Read the books in a folder's `*.txt.gz` files, sorted by name."""
    books = []
    for path in sorted(folder.glob("*.txt.gz")):
        with gzip.open(path) as file:
            raw = file.read(MAX_BOOK_BYTES)
        try:
            text = raw.decode().replace("\r\n", "\n").strip()
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: not UTF-8 at byte {error.start}", "convert the book") from error
        cut = text.rfind("\n\n", 0, int(len(text) * (1 - HELD_OUT)))
        books.append(Book(path.name.removesuffix(".txt.gz"), sha256_of(path), text[:cut], text[cut:].strip()))
    if not books:
        raise InputError(f"{folder}: no *.txt.gz", "give a folder of gzipped plain-text books")
    return books
