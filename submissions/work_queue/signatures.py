"""Sign states with the key of the service, so that a state that came in a pull request is not believed.

A state names its results with their digests, so its signature covers them, too.
"""

import hashlib
import hmac
import os
from pathlib import Path
from typing import Any

from divbench.core.errors import ConfigurationError
from divbench.core.files import canonical_json

KEY_VARIABLE = "DIVBENCH_SERVICE_KEY"
MIN_KEY_LETTERS = 16
NO_SIGNATURE = "it is not signed by the service"
OTHER_KEY = f"it is not signed with this {KEY_VARIABLE}"
NOT_PROTECTED = f"{KEY_VARIABLE} is not set: whoever can add files to the store can forge its states and results"


def service_key() -> bytes | None:
    """Return the key of the service; None if its states are not protected."""
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if 0 < len(key) < MIN_KEY_LETTERS:
        hint = "make one, such as: openssl rand -hex 32"
        raise ConfigurationError(f"{KEY_VARIABLE} has fewer than {MIN_KEY_LETTERS} characters", hint)
    return key.encode() or None


def signature_of(document: dict[str, Any], key: bytes) -> str:
    """Return the signature of a state, given as its JSON object."""
    content = {name: value for name, value in document.items() if name != "signature"}
    return hmac.new(key, b"divbench state\n" + canonical_json(content), "sha256").hexdigest()


def flaw_of(document: dict[str, Any]) -> str | None:
    """Return why the service's states cannot include this one; None if they can, or if there is no key."""
    if (key := service_key()) is None:
        return None
    if (signature := document.get("signature")) is None:
        return NO_SIGNATURE
    return None if hmac.compare_digest(str(signature).encode(), signature_of(document, key).encode()) else OTHER_KEY


def result_digest(content: bytes | Path) -> str:
    """Return the digest of a result: of its `result.json`, given as bytes or by its folder, which names its table's."""
    data = content if isinstance(content, bytes) else (content / "result.json").read_bytes()
    return hashlib.sha256(data).hexdigest()
