"""Doors: logging in and out, and who may do what with a campaign."""

from __future__ import annotations

import asyncio
import math

from starlette.responses import RedirectResponse, Response

from probewise.errors import InvalidServer
from probewise.markup import Html, joined, paragraphs, table, tag, void
from probewise.server.accounts import ROLES
from probewise.server.guard import client_of
from probewise.server.pages.shell import alert, button, card, choice, form, link, page, text_field, told
from probewise.server.people import cookie_name
from probewise.server.site import Call, Refused, set_cookie

_BUSY = asyncio.Semaphore(2)
"""Passwords that are checked at once: each takes 64 MB on purpose."""
MEANING = {
    "see": "look at everything",
    "measure": "see, ask for rounds and enter outcomes",
    "amend": "measure, correct, void, close and restock",
    "own": "amend, and give roles to others",
}


async def login_page(call: Call) -> Response:
    """Where a name and a password are asked for."""
    if call.who.name:
        return RedirectResponse("/", 303)
    return _login(call, _inside(call.request.query_params.get("next", "/")))


def _login(call: Call, to: str, wrong: str = "", status: int = 200) -> Response:
    fields = [
        void("input", type="hidden", name="next", value=to),
        text_field("Login", "name", required="required", autocomplete="username", autofocus="autofocus"),
        text_field("Password", "password", kind="password", required="required", autocomplete="current-password"),
        button("Log in"),
    ]
    said = alert(wrong, "bad") if wrong else None
    return page(call, "Log in", tag("h1", "Log in"), said, form(call, "/login", *fields, class_="door"), status=status)


def _inside(address: str) -> str:
    """An address of this server, and of no other."""
    plain = address.startswith("/") and not address.startswith(("//", "/\\")) and "\\" not in address
    return address if plain and address.isprintable() and len(address) < 2000 else "/"


async def login(call: Call) -> Response:
    """Begin a session, if the password is right; it takes as long if it is not."""
    site, name = call.site, str(call.form.get("name", ""))
    password, to = str(call.form.get("password", ""))[:1001], _inside(str(call.form.get("next", "/")))
    where = client_of(call.request.scope, call.request.headers, site.config)
    keys = {"login": f"{where} {name:.100}", "address": where}
    wait = max(site.gates[own].wait(key) for own, key in keys.items())
    if wait > 0:
        minutes = math.ceil(wait / 60)
        raise Refused(429, f"too many wrong passwords; try again in {minutes} minute{'s' * (minutes != 1)}.")
    for own, key in keys.items():
        site.gates[own].tried(key)  # before the answer is known: many at once are many tries
    async with _BUSY:
        right = await asyncio.to_thread(site.accounts.right, name, password)
    if not right:
        return _login(call, to, "The login or the password is wrong.", 401)
    for own, key in keys.items():
        site.gates[own].forget(key)
    answer = RedirectResponse(to, 303)
    set_cookie(answer, site.config, site.accounts.begin(name))
    return answer


async def logout(call: Call) -> Response:
    """End the session."""
    config = call.site.config
    call.site.accounts.end(call.request.cookies.get(cookie_name(config), ""))
    answer = RedirectResponse("/login" if config.accounts else "/", 303)
    answer.delete_cookie(cookie_name(config), path="/", secure=config.secure, httponly=True, samesite="lax")
    return answer


async def people(call: Call) -> Response:
    """Who may do what with a campaign."""
    own = call.site.accounts.people(call.name)
    rows = [(name, role, MEANING[role]) for name, role in sorted(own.items())]
    options = {name: name for name, _ in call.site.accounts.users() if name != call.who.name}
    give = form(
        call,
        link(call.name, "/people"),
        choice("Login", "login", options),
        choice("Role", "role", {role: f"{role}: {MEANING[role]}" for role in ROLES} | {"none": "none"}),
        button("Change"),
    )
    shown: Html = table(("login", "role", "may"), rows, kinds="wtw") if rows else paragraphs("Nobody yet.")
    alone = paragraphs("There is no other login yet; whoever runs the server adds them (probewise user add).")
    body = joined([tag("h1", "People"), shown, card("Change a role", give) if options else alone])
    return page(call, "People", body, tab="/people")


async def grant(call: Call) -> Response:
    """Change a role; whoever owns a campaign stays its owner."""
    name, role = str(call.form.get("login", "")), str(call.form.get("role", ""))
    if name == call.who.name:
        raise Refused(422, "you cannot change your own role; ask another owner.")
    try:
        call.site.accounts.grant(name, call.name, None if role == "none" else role)
    except InvalidServer as error:
        raise Refused(422, str(error)) from None
    return told(call, f"'{name}' has the role '{role}' now.", link(call.name, "/people"))
