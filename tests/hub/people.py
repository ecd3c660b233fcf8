"""Who may do what: users, organisations, and the tokens that stand for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tests.hub.objects import Refused
from tests.hub.store import Repo

Role = Literal["read", "write"]


@dataclass(frozen=True)
class Token:
    """A user's token; one with the role `read` changes nothing, whoever holds it."""

    user: str
    role: Role


class People:
    """Users and organisations: `orgs` gives for every organisation its members and what they may do there."""

    def __init__(self, users: Sequence[str], orgs: Mapping[str, Mapping[str, Role]]) -> None:
        self.orgs = {org: dict(members) for org, members in orgs.items()}
        roles: tuple[Role, Role] = ("write", "read")
        self._tokens = {f"hf_{user}_{role}": Token(user, role) for user in users for role in roles}

    @property
    def tokens(self) -> dict[str, str]:
        """Every user's token to write with, under the user's name, and to read with, under `<name>:read`."""
        return {one.user + (":read" if one.role == "read" else ""): text for text, one in self._tokens.items()}

    def who(self, authorization: str | None) -> Token | None:
        """Who sent a request with this header; None if nobody says so.

        Raises:
            Refused: 401 if the token is nobody's. The Hub then answers not even what anybody may read.
        """
        if authorization is None:
            return None
        found = self._tokens.get(authorization.removeprefix("Bearer "))
        if found is None:
            raise Refused(401, "Invalid credentials in Authorization header")
        return found

    def may_write(self, token: Token | None, namespace: str) -> bool:
        """Whether this token changes what belongs to a user or an organisation."""
        if token is None or token.role != "write":
            return False
        return token.user == namespace or self.orgs.get(namespace, {}).get(token.user) == "write"

    def may_read(self, token: Token | None, repo: Repo) -> bool:
        """Whether this token sees a repository."""
        if not repo.private:
            return True
        return token is not None and (token.user == repo.namespace or token.user in self.orgs.get(repo.namespace, {}))
