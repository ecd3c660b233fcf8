"""Who hands in, as far as the server can know: a login at the Hub inside a Space, else a name that somebody gives."""

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from pydantic import ValidationError

from datasets_build.errors import ConfigurationError
from submissions.work_queue.schema import Identity

_LOGIN = ("SPACE_ID", "OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET", "OAUTH_SCOPES", "OPENID_PROVIDER_URL")


def login_is_real(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the Hub says who somebody is: in a Space with `hf_oauth`. Elsewhere Gradio would make up a login."""
    return environment.get("SYSTEM") == "spaces" and all(environment.get(name) for name in _LOGIN)


def takes_names(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a name that somebody gives will do: not in a Space, where anybody could give anybody's."""
    return not environment.get("SPACE_ID") and environment.get("SYSTEM") != "spaces"


def submitter(
    called: str,
    login: str | None,
    headers: Mapping[str, str],
    environment: Mapping[str, str] = os.environ,
) -> Identity:
    """Who hands in.

    Args:
        called: What they call themselves; of no account where there is a login.
        login: The name that the Hub gave the server for them; None: they are not logged in.
        headers: Of their request.
        environment: Says where this runs.

    Raises:
        ConfigurationError: They must log in, the request came from another site, or nobody has such a name.
    """
    if not login_is_real(environment):
        if not takes_names(environment):
            raise ConfigurationError(
                "this Space has no login", "whoever runs it sets hf_oauth: true in its README; or use divbench submit"
            )
        return _identity(called, verified=False)
    if login is None:
        raise ConfigurationError("you are not logged in", "sign in at the top of the page, then check it again")
    # A page of another site could send a visitor's cookie along, and so hand in under their name.
    ours = {headers.get("host", ""), *environment.get("SPACE_HOST", "").split(",")}
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc not in {host.strip() for host in ours if host.strip()}:
        raise ConfigurationError("the request came from another site", "hand in from this page")
    return _identity(login, verified=True)


def _identity(name: str, *, verified: bool) -> Identity:
    try:
        return Identity(name=name.strip(), verified=verified)
    except ValidationError as error:
        said = error.errors(include_url=False, include_input=False)[0]["msg"].removeprefix("Value error, ")
        raise ConfigurationError(
            f"nobody has that name: {said}", "give a name of 1 to 100 printable characters"
        ) from None
