"""A filter over memories of entities as a condition in SQL: of memories `m` and their entities `e`.

Values are parameters, never text of the query. A comparison with something that is not there is false, so that its
opposite is true.
"""

from typing import Any, LiteralString

from psycopg import sql
from psycopg.types.json import Jsonb

from keepstone.model.entity import ID_FIELDS, Comparison, Either, EntityFilter, Every, Filter, Moment, Never, Operator

Params = dict[str, Any]

_ORDER: dict[Operator, LiteralString] = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_TEXT: dict[Operator, LiteralString] = {
    "eq": "{column} = {value}",
    "ne": "{column} IS DISTINCT FROM {value}",
    "in": "{column} = ANY({value})",
    "contains": "position({value} IN {column}) > 0",
    "icontains": "position(lower({value}) IN lower({column})) > 0",
}
_CATEGORIES: dict[Operator, LiteralString] = {
    "eq": "{value} = ANY(m.tags)",
    "ne": "NOT {value} = ANY(m.tags)",
    "in": "m.tags && {value}::text[]",
    "contains": "{value} = ANY(m.tags)",
    "icontains": "EXISTS (SELECT 1 FROM unnest(m.tags) tag WHERE position(lower({value}) IN lower(tag)) > 0)",
}
_METADATA: dict[Operator, LiteralString] = {
    "eq": "({found} = {value} OR jsonb_typeof({value}) = 'object' AND {found} @> {value})",
    "ne": "{found} IS DISTINCT FROM {value}",
    "in": "{found} = ANY({value}::jsonb[])",
    "contains": """CASE WHEN jsonb_typeof({found}) = 'string' AND jsonb_typeof({value}) = 'string'
                        THEN position(({value} #>> '{{}}') IN ({found} #>> '{{}}')) > 0 ELSE {found} @> {value} END""",
    "icontains": """EXISTS (SELECT 1 FROM jsonb_array_elements(CASE jsonb_typeof({found}) WHEN 'array' THEN {found}
                                                                  ELSE jsonb_build_array({found}) END) each
                             WHERE position(lower({value} #>> '{{}}') IN lower(each #>> '{{}}')) > 0)""",
}


def meant(wanted: EntityFilter, params: Params) -> sql.Composable:
    """The memories that are there and meant. `now` is among the parameters."""
    expired: LiteralString = "true" if wanted.expired else "(m.valid_to IS NULL OR m.valid_to > %(now)s)"
    return sql.SQL("m.deleted_at IS NULL AND {expired} AND {condition}").format(
        expired=sql.SQL(expired), condition=condition(wanted.filter, params)
    )


def condition(one: Filter, params: Params) -> sql.Composable:
    """Adds what it compares with to the parameters."""
    match one:
        case Every():
            return _joined(" AND ", "true", one.parts, params)
        case Either():
            return _joined(" OR ", "false", one.parts, params)
        case Never():
            return sql.SQL("NOT ({})").format(condition(one.part, params))
        case Comparison():
            return sql.SQL("coalesce({}, false)").format(_comparison(one, params))


def _joined(word: LiteralString, none: LiteralString, parts: tuple[Filter, ...], params: Params) -> sql.Composable:
    if not parts:
        return sql.SQL(none)
    return sql.SQL("({})").format(sql.SQL(word).join([condition(part, params) for part in parts]))


def _comparison(one: Comparison, params: Params) -> sql.Composable:
    if one.field == "metadata":
        return _of_metadata(one, params)
    if isinstance(one.value, Moment):
        return _of_time(one, one.value, params)
    if one.field == "categories":
        return sql.SQL(_CATEGORIES[one.operator]).format(value=_text(one.value, params))
    column = sql.Identifier(
        *("e" if one.field in ID_FIELDS else "m", "content" if one.field == "memory" else one.field)
    )
    if one.value is None:
        return sql.SQL("{} IS NOT NULL" if one.operator == "ne" else "{} IS NULL").format(column)
    return sql.SQL(_TEXT[one.operator]).format(column=column, value=_text(one.value, params))


def _of_metadata(one: Comparison, params: Params) -> sql.Composable:
    found = sql.SQL("(m.metadata #> {}::text[])").format(_named(list(one.path), params))
    value: Any = [Jsonb(each) for each in one.value] if one.operator == "in" else Jsonb(one.value)
    shown = _named(value, params)
    if one.operator == "in":
        return sql.SQL(_METADATA["in"]).format(found=found, value=shown)
    shown = sql.SQL("{}::jsonb").format(shown)
    if one.operator in _ORDER:
        return sql.SQL("jsonb_typeof({found}) = jsonb_typeof({value}) AND {found} {order} {value}").format(
            found=found, value=shown, order=sql.SQL(_ORDER[one.operator])
        )
    return sql.SQL(_METADATA[one.operator]).format(found=found, value=shown)


def _of_time(one: Comparison, moment: Moment, params: Params) -> sql.Composable:
    """Of a whole day: before it, in it, or after it."""
    column = sql.Identifier("m", one.field)
    start, end = _named(moment.start, params), _named(moment.end or moment.start, params)
    if one.operator in {"eq", "ne"}:
        inside: LiteralString = "{column} >= {start} AND {column} < {end}"
        if moment.end is None:
            inside = "{column} = {start}"
        equal = sql.SQL(inside).format(column=column, start=start, end=end)
        return equal if one.operator == "eq" else sql.SQL("NOT ({})").format(equal)
    order = _ORDER[one.operator]
    whole = moment.end is not None
    if whole and one.operator == "gt":
        order = ">="
    if whole and one.operator == "lte":
        order = "<"
    against = end if whole and one.operator in {"gt", "lte"} else start
    return sql.SQL("{} {} {}").format(column, sql.SQL(order), against)


def _text(value: Any, params: Params) -> sql.Composable:
    return _named(value, params) if isinstance(value, list) else sql.SQL("{}::text").format(_named(value, params))


def _named(value: Any, params: Params) -> sql.Placeholder:
    name = f"value_{len(params)}"
    params[name] = value
    return sql.Placeholder(name)
