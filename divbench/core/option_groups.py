"""Options shared by several commands: a dataclass whose fields are the options, as one parameter of a command."""

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from inspect import Parameter, signature
from typing import Any


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each field of its parameters that are dataclasses; Typer reads the new signature."""
    own = signature(command)
    kinds = [(each.name, each.annotation) for each in own.parameters.values()]
    groups: dict[str, Any] = {name: kind for name, kind in kinds if is_dataclass(kind)}
    shown: list[Parameter] = []
    for each in own.parameters.values():
        if each.name not in groups:
            shown.append(each.replace(kind=Parameter.KEYWORD_ONLY))
            continue
        for field in fields(groups[each.name]):
            default = Parameter.empty if field.default is MISSING else field.default
            if each.default is not Parameter.empty:  # a group with defaults of the command
                default = getattr(each.default, field.name)
            shown.append(Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=field.type))

    def run(**values: Any) -> None:
        chosen = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**values, **chosen)

    run.__signature__ = own.replace(parameters=shown)  # type: ignore[attr-defined] # `signature` looks for it
    run.__annotations__ = {each.name: each.annotation for each in shown}
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    return run
