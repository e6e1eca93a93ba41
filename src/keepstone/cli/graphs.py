"""Looking into a recall."""

from typing import Annotated

import typer

from keepstone.cli.options import Json
from keepstone.cli.run import show, with_services
from keepstone.memory.graph_recall import get_query
from keepstone.model.graph import Query
from keepstone.services import Services

app = typer.Typer()


@app.command()
def query(query_id: Annotated[str, typer.Argument(metavar="QUERY_ID")], as_json: Json = False) -> None:
    async def run(services: Services) -> Query:
        return await get_query(services, query_id)

    show(with_services(run), as_json=as_json)
