"""Authentication and permissions: the token or the browser's cookie, the workspace, role, scope and rate limit (called
by Connexion before validation)."""

import hmac
from functools import partial
from typing import Any

from connexion.exceptions import OAuthProblem
from connexion.lifecycle import ConnexionRequest
from connexion.security import NO_VALUE

from handlers.asgi.request_body import check_origin, cookie_in
from handlers.contract.operations import check_permission, rules_of
from handlers.errors import TooManyRequests
from handlers.request import RequestContext, context_of
from persistence.errors import NotAllowed, Refused
from persistence.tokens import Credentials


def token_in(header: str) -> str | None:
    """The token of an Authorization header `Token <key>`; None when there is no usable one."""
    scheme, _, key = header.strip().partition(" ")
    words = key.split()
    return words[0] if scheme.lower() == "token" and len(words) == 1 else None


async def token_info(header: str, request: ConnexionRequest) -> dict[str, Any]:
    """Connexion's security function: raises OAuthProblem (401), NotAllowed (403) or TooManyRequests (429)."""
    key = token_in(header)
    if key is None:
        raise OAuthProblem
    context = context_of(request.scope)
    service = context.service
    credentials = service.known_credentials(key)
    if credentials is None:
        credentials = await service.pool.run(partial(service.look_up_credentials, key), service.limiter)
    if credentials is None:
        raise NotAllowed("This API token is not valid.", "token_not_valid")
    if context.origin is not None and not await service.allows_origin(context.origin, credentials.workspace.id):
        context.origin = None
    rules = rules_of(request.scope)
    await _spend(context, credentials, rules.rate_scope)
    check_permission(credentials, rules)
    context.credentials = credentials
    return {"sub": credentials.email}


async def cookie_info(header: str, request: ConnexionRequest) -> Any:
    """The same for the cookie of a signed-in browser, unless there is a token too; reads the whole Cookie header.
    Raises NotAllowed for requests that a page of another site may have made."""
    key = cookie_in(header)
    if key is None or "authorization" in request.headers:
        return NO_VALUE
    context, rules = context_of(request.scope), rules_of(request.scope)
    service = context.service
    check_origin(request.headers, service.settings.base_url)
    workspace_uuid = request.headers.get("X-Workspace") or None
    credentials = await service.pool.run(partial(service.look_up_sign_in, key, workspace_uuid), service.limiter)
    if credentials is None:
        raise OAuthProblem
    await _spend(context, credentials, rules.rate_scope)
    check_permission(credentials, rules)
    if rules.is_writing:
        _check_csrf(request.headers.get("X-CSRF-Token", ""), credentials)
    context.credentials = credentials
    return {"sub": credentials.email}


async def visitor_info(_header: str, request: ConnexionRequest) -> dict[str, Any]:
    """The same for a visitor of a site, whom the layer of chats looked up. Raises OAuthProblem (401), or Refused for a
    file that the chat does not take, before it is read."""
    caller = context_of(request.scope).caller
    if caller is None or caller.visitor is None:
        raise OAuthProblem
    if rules_of(request.scope).is_upload and not caller.chat.config.get("takes_files"):
        raise Refused("This chat takes no files.")
    return {"sub": caller.visitor.urn.path}


def _check_csrf(given: str, credentials: Credentials) -> None:
    wanted = credentials.csrf_token or ""
    if not hmac.compare_digest(given.encode(), wanted.encode()):
        raise NotAllowed("Send the CSRF token of your account in the header X-CSRF-Token.")


async def _spend(context: RequestContext, credentials: Credentials, scope: str) -> None:
    service, workspace_id = context.service, credentials.workspace.id
    allowance = service.rate_limiter.spend_known(workspace_id, scope)
    if allowance is None:
        spend = partial(service.rate_limiter.spend, workspace_id, scope)
        allowance = await service.pool.run(spend, service.limiter)
    context.rate_limits = {
        "RateLimit-Limit": str(allowance.limit),
        "RateLimit-Remaining": str(max(0, allowance.remaining)),
        "RateLimit-Reset": str(allowance.reset_seconds),
    }
    if not allowance.is_granted:
        raise TooManyRequests(allowance.reset_seconds)
