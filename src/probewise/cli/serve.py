"""probewise serve: campaigns in the browser."""

from __future__ import annotations

from pathlib import Path

import click

from probewise.cli import output
from probewise.cli.inputs import FILE, wholes
from probewise.cli.output import json_option


@click.command()
@click.argument("place", metavar="FOLDER_OR_URL")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on.")
@click.option("--port", type=wholes(1, 65535), default=8017, show_default=True, metavar="N", help="Port to listen on.")
@click.option("--url", metavar="URL", help="What browsers have in their address line, such as https://lab.example.org.")
@click.option("--tls-cert", type=FILE, metavar="FILE", help="Certificate, to be reached from other computers.")
@click.option("--tls-key", type=FILE, metavar="FILE", help="Key of the certificate.")
@click.option("--behind-proxy", is_flag=True, help="A proxy speaks TLS with browsers and passes requests on.")
@click.option("--login", is_flag=True, help="Ask for a login on this computer too, which other people may use.")
@click.option(
    "--state", type=FILE, metavar="FILE", help="File with accounts. Default: .probewise-server.sqlite in the folder."
)
@json_option
def command(
    place: str,
    host: str,
    port: int,
    url: str | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    behind_proxy: bool,
    login: bool,
    state: Path | None,
    as_json: bool,
) -> None:
    """Show campaigns in the browser.

    FOLDER_OR_URL is a folder with campaigns (files that end in .campaign or .jsonl), or the URL of a PostgreSQL
    database. On this computer, no login is needed. To be reached from others, the server needs TLS and accounts, which
    `probewise user` makes. Instruments use the JSON interface under /api/v1. Ctrl-C ends it.

    \b
    Example
      probewise serve campaigns
    """
    from probewise.server.config import Config
    from probewise.server.serving import serve

    config = Config(place, host, port, url, tls_cert, tls_key, behind_proxy, login, state)
    if as_json:
        output.print_json({"url": config.shown, "login": config.accounts})
    else:
        output.line(f"Open {config.shown} in a browser. Ctrl-C ends the server.", err=True)
    serve(config)
