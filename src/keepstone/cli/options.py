"""Options and arguments that several commands share."""

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="For machines.")]
Email = Annotated[str, typer.Argument(metavar="EMAIL")]
Owner = Annotated[str, typer.Option("--user", metavar="EMAIL")]
