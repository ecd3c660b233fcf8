"""The YAML block at the start of a README.md."""

import re
from typing import Any

import yaml


class BadCard(ValueError):
    """The block is not what the Hub takes."""


def card_data(readme: str) -> dict[str, Any]:
    """What the block says; nothing if there is none.

    Raises:
        BadCard: It is no YAML, no mapping, or a config in it cannot be found by its name.
    """
    block = re.match(r"---[ \t]*\r?\n(.*?)\r?\n?---[ \t]*(\r?\n|$)", readme, re.DOTALL)
    if block is None:
        return {}
    try:
        data = yaml.safe_load(block[1])
    except yaml.YAMLError as error:
        raise BadCard(f"YAML Metadata Error: {error}") from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise BadCard("YAML Metadata Error: the metadata is not a mapping")
    configs = data.get("configs", [])
    if not isinstance(configs, list) or not all(isinstance(one, dict) and "config_name" in one for one in configs):
        raise BadCard('YAML Metadata Error: "configs" must be a list of mappings with a "config_name"')
    return data
