"""What a recall from a graph did, for the operator: numbers and names of filters, never a text."""

from fastapi import APIRouter, Depends
from pydantic import Field

from keepstone.memory import graph_recall
from keepstone.model.graph import Query
from keepstone.surfaces.http.caller import Used, operator
from keepstone.surfaces.http.wire import fields_of

router = APIRouter(prefix="/x_console/api", tags=["console"], dependencies=[Depends(operator)])


class QueryOut(
    fields_of(
        Query,
        "id account_id at user_id credential_id graph_id filters max_results min_relevance returned total best "
        "degraded milliseconds",
    )
):
    best: float | None = Field(description="The relevance of the first result.")


@router.get("/queries/{query_id:qry}", summary="What a recall from a graph did")
async def get_query(services: Used, query_id: str) -> QueryOut:
    return QueryOut.model_validate(await graph_recall.get_query(services, query_id))
