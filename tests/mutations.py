"""Small mutations of the product's functions, chosen by the shape of the code and not by its names."""

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDERS = ("datasets_build", "submissions", "benchmark", "leaderboard", "divbench")
LEAST = 25  # mutations per folder
NO_CODE = {"perf", "banks", "offline_lm", "bundled_lm"}  # folders of measurements, words and training scripts
TEXTS = ("scenarios/about_", "scenarios/sea_")
SWAPPED: tuple[tuple[type[ast.cmpop], type[ast.cmpop]], ...] = (
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq)),
    *((ast.Is, ast.IsNot), (ast.In, ast.NotIn)),
)
OTHER = {**dict(SWAPPED), **{after: before for before, after in SWAPPED}}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Mutation:
    """A replacement of one expression in a function.

    Attributes:
        key: Hash of the function's shape, the kind and the place; the same wherever the function stands.
        module: Path in the repository.
        start: Offset in bytes of the replaced source text.
    """

    key: str
    folder: str
    module: str
    function: str
    kind: str
    line: int
    start: int
    before: str
    after: str

    def applied(self, source: bytes) -> bytes:
        """The source with the replacement."""
        end = self.start + len(self.before.encode())
        return source[: self.start] + self.after.encode() + source[end:]


def shape(node: ast.AST, seen: dict[tuple[str, str], int]) -> str:
    """A function's syntax with each name and text replaced by the order of its first appearance.

    Imports, annotations, decorators and docstrings are left out: renaming reorders them or rewrites them.
    """
    parts = []
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_comment", "kind", "ctx"}:
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.Import | ast.ImportFrom) or (isinstance(each, ast.Expr) and _is_text(each.value)):
                continue
            if isinstance(each, str):
                namespace = f"{type(node).__name__}.{name}"
                parts.append(f"#{seen.setdefault((namespace, each), len(seen))}")
            else:
                parts.append(shape(each, seen) if isinstance(each, ast.AST) else repr(each))
        parts.append("|")
    return f"{type(node).__name__}({' '.join(parts)})"


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _replacements(node: ast.AST, gives_value: bool) -> Iterator[tuple[str, ast.expr, str]]:
    """The kind, the expression to replace and its replacement, for each mutation of one node."""
    match node:
        case ast.Compare(left=left, ops=ops, comparators=right):
            for place, op in enumerate(ops):
                changed = [*ops[:place], OTHER[type(op)](), *ops[place + 1 :]]
                yield "comparison", node, f"({ast.unparse(ast.Compare(left, changed, right))})"
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            if not any(_is_text(side) or isinstance(side, ast.List | ast.Tuple) for side in (left, right)):
                yield "plus", node, f"({ast.unparse(ast.BinOp(left, ast.Sub(), right))})"
        case ast.BoolOp(op=ast.And(), values=values):
            yield "and", node, f"({ast.unparse(ast.BoolOp(ast.Or(), values))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not", node, f"({ast.unparse(operand)})"
        case _:
            yield from _plain_replacements(node, gives_value)


def _plain_replacements(node: ast.AST, gives_value: bool) -> Iterator[tuple[str, ast.expr, str]]:
    match node:
        case ast.Constant(value=bool(value)):
            yield "boolean", node, str(not value)
        case ast.Constant(value=int(value)):
            yield "integer", node, str(value + 1)
        case ast.Call(func=ast.Name(id="min" | "max" as name) as function):
            yield "min-max", function, "max" if name == "min" else "min"
        case ast.If(test=test, body=[ast.Raise()], orelse=[]):
            yield "guard", test, "False"
        case ast.Return(value=ast.expr() as returned) if gives_value and ast.unparse(returned) != "None":
            yield "return", returned, "None"


def _walk(node: ast.AST, gives_value: bool) -> Iterator[tuple[str, ast.expr, str]]:
    if isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in {"Option", "Argument"}
    ):
        return
    if isinstance(node, Function):
        typed = ast.unparse(node.returns) if node.returns else "None"
        gives_value = not any(word in typed for word in ("None", "Any", "object", "Optional", "NoReturn"))
    yield from _replacements(node, gives_value)
    for name, value in ast.iter_fields(node):
        if name not in {"annotation", "returns", "decorator_list"}:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _walk(child, gives_value)


def _functions(node: ast.AST, name: str = "") -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield f"{name}{child.name}", child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{name}{child.name}.")


def mutations_of(source: str, module: str, seed: int = 0) -> list[Mutation]:
    """All mutations of a module's functions."""
    folder = module.partition("/")[0]
    encoded, lines = source.encode(), [0]
    for line in encoded.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    made = []
    for name, function in _functions(ast.parse(source)):
        places: Counter[str] = Counter()
        outline = shape(function, {}).split(" ", 1)[1]  # without the function's own name
        for kind, node, after in _walk(function, gives_value=False):
            key = hashlib.sha256(f"{seed} {outline} {kind} {places[kind]}".encode()).hexdigest()[:20]
            places[kind] += 1
            start = lines[node.lineno - 1] + node.col_offset
            end = lines[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
            before = encoded[start:end].decode()
            made.append(Mutation(key, folder, module, name, kind, node.lineno, start, before, after))
    return made


def product_modules(root: Path) -> dict[str, str]:
    """The path in the repository of each module of the product, by its dotted name."""
    paths = [path.relative_to(root) for folder in FOLDERS for path in sorted((root / folder).rglob("*.py"))]
    return {".".join(path.with_suffix("").parts).removesuffix(".__init__"): path.as_posix() for path in paths}


def candidates_of(root: Path, seed: int) -> list[Mutation]:
    """All mutations of the product, the lowest key first.

    Functions of the same shape have the same keys, and are left out.
    """
    candidates: list[Mutation] = []
    for path in product_modules(root).values():
        if not NO_CODE & {*path.split("/")[:-1]} and not any(text in path for text in TEXTS):
            candidates += mutations_of((root / path).read_text("utf-8"), path, seed)
    often = Counter(each.key for each in candidates)
    return sorted((each for each in candidates if often[each.key] == 1), key=lambda each: each.key)


def choose(candidates: Sequence[Mutation], count: int) -> list[Mutation]:
    """The first mutations of each folder, in proportion to its candidates."""
    sizes = Counter(each.folder for each in candidates)
    least = min(LEAST, count // len(sizes))
    shares = {name: max(least, round(count * size / len(candidates))) for name, size in sizes.items()}
    shares[max(shares, key=lambda name: shares[name])] += count - sum(shares.values())
    return [each for name in FOLDERS for each in [c for c in candidates if c.folder == name][: shares.get(name, 0)]]
