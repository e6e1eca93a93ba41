"""Looking into a recall."""

from cairn.cli.run import show, with_services
from cairn.memory.graph_recall import get_query
from cairn.model.graph import Query
from cairn.services import Services


def query(*, query_id: str, as_json: bool) -> None:
    async def run(services: Services) -> Query:
        return await get_query(services, query_id)

    show(with_services(run), as_json=as_json)
