"""probewise user: who may use a server, and for what."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

import probewise as pw
from probewise.cli import output
from probewise.cli.inputs import FILE, wholes
from probewise.cli.output import json_option

if TYPE_CHECKING:
    from probewise.server.accounts import Accounts

_ROLES = "see|measure|amend|own"
state_argument = click.argument("place", metavar="FOLDER_OR_FILE", type=FILE)
role_option = click.option("--role", metavar=_ROLES, help="What the login may do with the campaign.")
campaign_option = click.option("--campaign", default="*", metavar="NAME", help="One campaign. Default: all of them.")


@click.group()
def command() -> None:
    """Who may use a server, and for what.

    Logins are kept in a file beside the campaigns (FOLDER), or in the FILE that `probewise serve --state` names. A role
    is for one campaign or for all: see it; measure (ask and tell); amend (correct, void, close, restock); own (give
    roles to others). Each includes those before it. `probewise user list --json` is for other programs.

    \b
    Example
      probewise user add campaigns anna --role measure
    """


@command.command()
@state_argument
@click.argument("name")
@role_option
@campaign_option
@click.option("--create", is_flag=True, help="The login may create campaigns, which it then owns.")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")
def add(place: Path, name: str, role: str | None, campaign: str, create: bool, password_stdin: bool) -> None:
    """Add a login."""
    accounts = _accounts(place)
    accounts.add(name, _password(password_stdin), creates=create)
    if role is not None:
        accounts.grant(name, campaign, role)
    output.say(f"'{name}' can log in{_right(role, campaign)}.")


@command.command()
@state_argument
@click.argument("name")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")
def password(place: Path, name: str, password_stdin: bool) -> None:
    """Change a password; all sessions of the login end."""
    accounts = _accounts(place)
    accounts.check(name)
    accounts.set_password(name, _password(password_stdin))
    output.say(f"'{name}' has another password.")


@command.command()
@state_argument
@click.argument("name")
@role_option
@campaign_option
def role(place: Path, name: str, role: str | None, campaign: str) -> None:
    """Give a role, or, without --role, take it away."""
    _accounts(place).grant(name, campaign, role)
    output.say(
        f"'{name}' has no role of its own for that." if role is None else f"'{name}' is let in{_right(role, campaign)}."
    )


@command.command()
@state_argument
@click.argument("name")
def remove(place: Path, name: str) -> None:
    """Remove a login; its records stay."""
    _accounts(place).remove(name)
    output.say(f"'{name}' can no longer log in.")


@command.command()
@state_argument
@click.argument("name")
@click.option("--scope", default="measure", show_default=True, metavar=_ROLES, help="The most that the token may do.")
@campaign_option
@click.option("--days", type=wholes(1, 3650), default=90, show_default=True, metavar="N", help="How long it is valid.")
@click.option("--label", default="", metavar="TEXT", help="What it is for.")
def token(place: Path, name: str, scope: str, campaign: str, days: int, label: str) -> None:
    """Make a token for an instrument; it is shown once."""
    click.echo(_accounts(place).issue(name, scope, campaign, days, label))


@command.command()
@state_argument
@click.argument("token_id", metavar="ID")
def revoke(place: Path, token_id: str) -> None:
    """Make a token invalid, by its id or the token itself."""
    parts = token_id.split("_")
    if not _accounts(place).revoke(parts[1] if parts[0] == "pw" and len(parts) > 1 else token_id):
        raise pw.InvalidServer(f"there is no token '{token_id:.20}'; probewise user list shows them.")
    output.say("The token is no longer valid.")


@command.command("list")
@state_argument
@json_option
def list_(place: Path, as_json: bool) -> None:
    """Every login with its roles and tokens."""
    accounts = _accounts(place)
    rows = [
        {
            "name": name,
            "creates": creates,
            "roles": accounts.grants(name),
            "tokens": [
                {"id": own, "scope": scope, "campaign": campaign, "until": _day(end), "label": label}
                for own, scope, campaign, end, label in accounts.tokens(name)
            ],
        }
        for name, creates in accounts.users()
    ]
    if as_json:
        output.print_json({"users": rows})
        return
    for name, creates in accounts.users():
        roles = [f"{role} {'all campaigns' if own == '*' else own}" for own, role in accounts.grants(name).items()]
        output.facts([(name, "", ", ".join([*roles, *["create campaigns"] * creates]) or "no role")], words=True)
        for own, scope, campaign, end, label in accounts.tokens(name):
            about = f"token {own}: {scope} {campaign} until {_day(end)} {label}"
            output.facts([("", "", about)], words=True)


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def _right(role: str | None, campaign: str) -> str:
    return "" if role is None else f", with the role '{role}' for {'all campaigns' if campaign == '*' else campaign}"


def _accounts(place: Path) -> Accounts:
    from probewise.server.accounts import Accounts
    from probewise.server.config import STATE

    return Accounts(place / STATE if place.is_dir() else place)


def _password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    found: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return found
