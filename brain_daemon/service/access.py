"""What a principal may touch: which memories it may change, and where it may put new ones.

What it may see is one predicate for all: `index.visibility`. Both questions here go through it.
"""

from brain_daemon.errors import Forbidden
from brain_daemon.index.visibility import PRIVATE, matches_any, permits
from brain_daemon.model import Principal, Tags


def may_change(principal: Principal, tags: Tags) -> bool:
    """Only its owner may replace or forget a memory, where the rule lets it see; an admin any."""
    if "admin" in principal.roles:
        return True
    return tags.owner == principal.name and permits(principal, tags)


def check_placing(principal: Principal, domain: str, access_scope: str) -> None:
    """Check that a principal may store something there.

    What is private is its owner's, so that scope needs no leave.

    Raises
    ------
    Forbidden
        The message names the rule, the value and what is allowed.
    """
    if not matches_any(principal.domains, domain):
        raise _not_allowed(principal, "domain", domain, principal.domains)
    if access_scope != PRIVATE and not matches_any(principal.scopes, access_scope):
        raise _not_allowed(principal, "access_scope", access_scope, (PRIVATE, *principal.scopes))


def _not_allowed(
    principal: Principal, field: str, value: str, allowed: tuple[str, ...]
) -> Forbidden:
    return Forbidden(
        f"{field} {value!r} is not one that {principal.name} may write to; "
        f"{principal.rule or 'the policy'} allows {', '.join(allowed) or 'none'}: choose one of "
        "them, or have the rule widened",
        field=field,
        value=value,
        allowed=list(allowed),
        rule=principal.rule,
    )
