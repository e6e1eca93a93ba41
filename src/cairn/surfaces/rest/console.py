"""The operator's console as an API: for whoever is on this machine, and for admins. It never shows memory."""

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field

from cairn.access import operator as operations
from cairn.surfaces.http.caller import Used, operator
from cairn.surfaces.http.wire import Time, Wire

router = APIRouter(prefix="/x_console/api", tags=["console"], dependencies=[Depends(operator)])


class ResidentOut(BaseModel):
    id: str
    email: str
    account_id: str
    plan: str
    role: str
    is_admin: bool
    quota_bytes: int | None = Field(description="null: as the plan says.")
    created_at: Time


class AllowanceIn(Wire):
    quota_bytes: Annotated[
        int | None, Field(ge=0, le=2**60, description="Capacity of this user; null goes back to the plan's.")
    ]


@router.patch("/users/{user_id:usr}", summary="Set how much a user may keep")
async def set_quota(services: Used, user_id: str, body: AllowanceIn) -> ResidentOut:
    await operations.set_quota(services, user_id, body.quota_bytes)
    return await get_resident(services, user_id)


@router.get("/users/{user_id:usr}", summary="Who a user is and what they may use")
async def get_resident(services: Used, user_id: str) -> ResidentOut:
    found = await operations.resident(services, user_id)
    return ResidentOut(
        id=found.user_id, email=found.email, account_id=found.account_id, plan=found.plan, role=found.role,
        is_admin=found.is_admin, quota_bytes=found.quota_bytes, created_at=found.created_at,
    )  # fmt: skip
