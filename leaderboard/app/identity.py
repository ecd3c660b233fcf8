"""The submitter's identity: a Hub login in a Space, otherwise an unverified name."""

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from divbench.core.errors import ConfigurationError
from submissions.work_queue.schema import Identity, identity

_LOGIN = ("SPACE_ID", "OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET", "OAUTH_SCOPES", "OPENID_PROVIDER_URL")


def login_is_real(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the Hub verifies logins, as in a Space with `hf_oauth`. Elsewhere Gradio would fake a login."""
    return environment.get("SYSTEM") == "spaces" and all(environment.get(name) for name in _LOGIN)


def takes_names(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether an unverified name is accepted: not in a Space, where anybody could use anybody's name."""
    return not environment.get("SPACE_ID") and environment.get("SYSTEM") != "spaces"


def submitter(
    name: str, login: str | None, headers: Mapping[str, str], environment: Mapping[str, str] = os.environ
) -> Identity:
    """Return the submitter's identity: the login that the Hub reports, or else the name that the submitter typed."""
    verified = verified_login(login, headers, environment)
    text = name.strip() if verified is None else verified
    return identity(text, "give a name of 1 to 100 printable characters", verified=verified is not None)


def verified_login(
    login: str | None, headers: Mapping[str, str], environment: Mapping[str, str] = os.environ
) -> str | None:
    """Check and return the login that the Hub reports; None outside a Space, where there is none."""
    if not login_is_real(environment):
        if not takes_names(environment):
            raise ConfigurationError(
                "this Space has no login", "ask its owner to set hf_oauth: true in its README, or use divbench submit"
            )
        return None
    if login is None:
        raise ConfigurationError("you are not logged in", "sign in at the top of the page, then retry")
    # Another site's page could send a visitor's cookie along and so act under their name.
    ours = {headers.get("host", ""), *environment.get("SPACE_HOST", "").split(",")}
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc not in {host.strip() for host in ours if host.strip()}:
        raise ConfigurationError("the request came from another site", "use this page itself")
    return login
