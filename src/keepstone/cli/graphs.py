"""Looking into a recall."""

from keepstone.cli.run import show, with_services
from keepstone.memory.graph_recall import get_query
from keepstone.model.graph import Query
from keepstone.services import Services


def query(*, query_id: str, as_json: bool) -> None:
    async def run(services: Services) -> Query:
        return await get_query(services, query_id)

    show(with_services(run), as_json=as_json)
