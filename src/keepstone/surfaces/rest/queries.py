"""What a recall from a graph did, for the operator: numbers and names of filters, never a text."""

from fastapi import APIRouter, Depends
from pydantic import Field

from keepstone.memory import graph_recall
from keepstone.surfaces.http.caller import Used, operator
from keepstone.surfaces.http.wire import Shown, Time

router = APIRouter(prefix="/x_console/api", tags=["console"], dependencies=[Depends(operator)])


class QueryOut(Shown):
    id: str
    account_id: str
    at: Time
    user_id: str | None
    credential_id: str | None
    graph_id: str
    filters: list[str]
    max_results: int
    min_relevance: float
    returned: int
    total: int
    best: float | None = Field(description="The relevance of the first result.")
    degraded: str | None
    milliseconds: float


@router.get("/queries/{query_id:qry}", summary="What a recall from a graph did")
async def get_query(services: Used, query_id: str) -> QueryOut:
    return QueryOut.model_validate(await graph_recall.get_query(services, query_id))
