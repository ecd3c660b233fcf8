"""Manifests that are no JSON, or mean two things, or have values that no manifest has."""

from collections.abc import Callable
from typing import Any

from tests.submissions.attack import Attack, M, Place, changed, content, manifest

JSON: tuple[Place, ...] = (("json", M, None, ""),)
LONG: tuple[Place, ...] = (("sizes", M, None, ""),)
NO_TEXT: tuple[Place, ...] = (("encoding", M, None, ""),)
HIDDEN = "has a control, invisible or unassigned character"


def no_json(name: str, made: Callable[[], bytes], says: str, found: tuple[Place, ...] = JSON) -> Attack:
    return Attack(name, content(made, M), found, says)


def with_number(name: str, number: bytes, field: str, says: str) -> Attack:
    """A number where the seed stands, written in a way that no program writes."""
    found = (("manifest", M, None, field),) if field else JSON
    return Attack(name, changed(lambda data: data.replace(b'"seed": null', b'"seed": ' + number), M), found, says)


def wrong(name: str, field: str, says: str, **values: Any) -> Attack:
    return Attack(name, manifest(**values), (("manifest", M, None, field),), says)


def named(name: str, text: str, says: str = HIDDEN) -> Attack:
    return Attack(f"a-name-{name}", manifest(name=text), (("manifest", M, None, "name"),), says)


def taken(name: str, text: str) -> Attack:
    """A name that is odd, and is data like any other: it makes no path, no cell and no markup."""
    return Attack(f"a-name-{name}", manifest(name=text), accepted=True)


NO_JSON = (
    no_json("lists-in-lists", lambda: b"[" * 60_000, "nested more than 8 deep"),
    no_json("objects-in-objects", lambda: b'{"a":' * 12_000, "nested more than 8 deep"),
    no_json("a-name-twice", lambda: b'{"name": "a", "name": "b"}', "the key 'name' is repeated"),
    no_json("a-name-twice-within", lambda: b'{"system": {"type": "model", "type": "human"}}', "'type' is repeated"),
    no_json("a-name-twice-once-escaped", lambda: b'{"name": "a", "\\u006eame": "b"}', "the key 'name' is repeated"),
    no_json("an-escape-twice", lambda: b'{"\\u001b[31m": 1, "\\u001b[31m": 2}', r"the key '\x1b[31m' is repeated"),
    no_json("not-a-number", lambda: b'{"name": NaN}', "NaN is not a JSON value"),
    no_json("minus-infinity", lambda: b'{"name": -Infinity}', "-Infinity is not a JSON value"),
    no_json("a-byte-order-mark", lambda: b"\xef\xbb\xbf{}", "BOM"),
    no_json("utf-16", lambda: "{}".encode("utf-16"), "not UTF-8", NO_TEXT),
    no_json("latin-1", lambda: b'{"name": "\xe9"}', "not UTF-8", NO_TEXT),
    no_json("half-a-surrogate-in-utf-8", lambda: b'{"name": "\xed\xa0\x80"}', "not UTF-8", NO_TEXT),
    no_json("an-overlong-slash", lambda: b'{"name": "\xc0\xaf"}', "not UTF-8", NO_TEXT),
    no_json("zeros", lambda: bytes(1000), "not JSON"),
    no_json("two-manifests", lambda: b"{}{}", "Extra data"),
    no_json("a-comment", lambda: b"{} // all fine", "Extra data"),
    no_json("single-quotes", lambda: b"{'name': 'x'}", "not JSON"),
    no_json("an-object-cut-off", lambda: b'{"name": "x"', "not JSON"),
    no_json("a-string-without-end", lambda: b'{"name": "' + b"x" * 60_000, "not JSON"),
    no_json("a-control-in-a-string", lambda: b'{"name": "a\x1b[2Jb"}', "not JSON"),
    no_json("a-million-digits", lambda: b'{"seed": ' + b"9" * 10**6 + b"}", "1,000,010 bytes", LONG),
    no_json("a-million-letters", lambda: b'{"notes": "' + b"x" * 10**6 + b'"}', "1,000,013 bytes", LONG),
    no_json("a-list", lambda: b"[]", "object", (("manifest", M, None, ""),)),
    no_json("a-truth", lambda: b"true", "object", (("manifest", M, None, ""),)),
    no_json("half-a-surrogate", lambda: b'{"name": "\\ud800"}', "Invalid JSON", (("manifest", M, None, ""),)),
    with_number("sixty-thousand-digits", b"9" * 60_000, "", "Exceeds the limit"),
    Attack(
        "an-endless-temperature",
        changed(lambda data: data.replace(b'"temperature": null', b'"temperature": 1e999'), M),
        (("manifest", M, None, "generation.temperature"),),
        "finite number",
    ),
    with_number("a-number-over-all", b"1e999", "generation.seed", "valid integer"),
)
FIELDS = (
    wrong("an-unknown-field", "more", "unknown field", more=1),
    wrong("a-field-named-by-escapes", "\x1b[2J\x1b]0;owned\a", "unknown field", **{"\x1b[2J\x1b]0;owned\a": 1}),
    wrong("a-field-named-as-markup", "[blink]x[/]", "unknown field", **{"[blink]x[/]": 1}),
    wrong("a-field-of-50000-letters", "n" * 500 + "…", "unknown field", **{"n" * 50_000: 1}),
    wrong("a-token", "token", "unknown field", token="hf_" + "x" * 34),
    wrong("a-header", "generation.headers", "unknown field", generation={"k": 3, "headers": {"Authorization": "x"}}),
    wrong("an-inner-field", "system.__proto__", "unknown field", system={"type": "model", "__proto__": {}}),
    wrong("a-list-for-the-system", "system", "object", system=["model"]),
    wrong("an-escape-for-a-type", "system.type", "Input should be", system__type="\x1b[31mmodel"),
    wrong("no-number-of-responses", "generation.k", "greater than or equal to 1", generation__k=0),
    wrong("a-trillion-responses", "generation.k", "less than or equal to 1000", generation__k=10**12),
    wrong("a-text-for-a-number", "generation.k", "valid integer", generation__k="3"),
    wrong("a-truth-for-a-number", "generation.k", "valid integer", generation__k=True),
    wrong("a-suite-as-a-path", "suite", "should match pattern", suite="../../etc/passwd"),
    wrong("a-suite-with-a-line-end", "suite", "should match pattern", suite="toy\n"),
    wrong("a-suite-that-is-not", "suite", "there is no suite", suite="no-such-suite"),
    wrong("a-link-that-runs", "submitter.links.0", "should match pattern", submitter__links=["javascript:alert(1)"]),
    wrong("a-link-with-a-line-end", "submitter.links.0", "match pattern", submitter__links=["https://a.b\nX: y"]),
    wrong("a-day-that-is-not", "submitter.date", "date", submitter__date="2026-02-30"),
    wrong("notes-too-long", "notes", "at most 2000 characters", notes="x" * 2001),
    wrong("a-contact-that-hides", "submitter.contact", HIDDEN, submitter__contact="a@b.org\u202egro.c"),
    wrong("a-hash-that-is-none", "origin.sha256", "match pattern", origin={"format": "jsonl", "sha256": "../" * 21}),
)
NAMES = (
    named("of-escapes", "\x1b[31mred\x1b[0m"),
    named("with-a-title", "\x1b]0;owned\a"),
    named("with-a-zero", "gpt\x00.exe"),
    named("of-lines", "gpt\nAccepted: all"),
    named("with-a-return", "gpt\rAccepted"),
    named("of-eight-bit-escapes", "\x9b31mred"),
    named("backwards", "gpt\u202e4-o"),
    named("isolated", "\u2066gpt\u2069"),
    named("with-nothing-in-it", "gpt\u200b-4"),
    named("with-an-invisible-letter", "gpt\u3164-4"),
    named("of-braille-blanks", "\u2800\u2800"),
    named("of-tags", "gpt" + "".join(chr(0xE0000 + ord(letter)) for letter in "-free")),
    named("of-nobody", "\ue000"),
    named("too-long", "x" * 101, "at most 100 characters"),
    named("blank", "   ", "must not be blank"),
    named("with-space-around", " gpt", "must not be blank, or begin or end with white space"),
    taken("as-a-path", "../../../etc/passwd"),
    taken("as-a-drive", "C:\\Windows\\System32\\con.txt"),
    taken("as-a-formula", "=cmd|' /C calc'!A0"),
    taken("as-a-link", '=HYPERLINK("http://x.y","z")'),
    taken("as-a-script", "<script>alert(document.cookie)</script>"),
    taken("as-an-image", "![x](https://x.y/track.png)"),
    taken("as-markup", "[bold red]x[/bold red][link=https://x.y]z[/link]"),
    taken("as-sql", "Robert'); DROP TABLE results;--"),
    taken("as-a-template", "{{7*7}}${7*7}%s%n{0.__class__}"),
    taken("as-an-option", "--out=/etc"),
)
ATTACKS = NO_JSON + FIELDS + NAMES
