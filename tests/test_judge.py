"""A newer text takes the place of an older one only where that is sure; what is true side by side stays, in English,
German and Chinese.
"""

from collections.abc import Sequence
from dataclasses import replace
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepstone.engine.judge import Judgement, judge_words, vetoes
from keepstone.engine.relations import judge_pairs
from keepstone.providers.judge import Judge, Relation
from keepstone.services import Services
from test_dedup import CHANGED

# The older, then the newer that plainly takes its place.
RESTATED = [
    ("I live in Bergen.", "I moved to Trondheim."),
    ("Selma lives in Malmö.", "Selma lives in Uppsala."),
    ("Ich wohne in Kassel.", "Ich wohne jetzt in Jena."),
    ("我住在杭州。", "我现在住在苏州。"),
    ("I work at Vattenfall.", "I quit my job at Vattenfall."),
    ("My favourite tea is oolong.", "My favourite tea is sencha."),
    ("The yoga class is on Monday at 18:00.", "The yoga class was moved to Wednesday at 19:00."),
    ("The kiln room is locked at night.", "The kiln room is no longer locked at night."),
    ("Der Chor probt in der Aula.", "Der Chor probt ab sofort in der Turnhalle."),
    ("Die Bibliothek öffnet um zehn.", "Die Bibliothek öffnet jetzt um neun."),
    ("读书会在图书馆二楼。", "读书会改到咖啡馆了。"),
    ("We hire Fatima for the design role.", "On second thought, we hire Marek for the design role."),
    ("We agreed that the workshop is on Thursday.", "The workshop is now on Friday."),
    ("Decision: the offsite is in Nice, June 12 to 14.", "We're moving the offsite to Porto instead of Nice."),
    ("We launch on April 14.", "Change of plans: the launch moves to April 21."),
    ("Wir nehmen die Band von Jonas für das Fest.", "Wir nehmen doch die Band von Felix für das Fest."),
]
# May be, may not be: both are kept, and the caller is told.
LIKELY = [
    ("We use RabbitMQ for the event bus.", "We use Kafka for the event bus."),
    ("The deadline is March 15.", "The deadline is April 1."),
    ("Final: version 2.3 ships on Monday.", "Final: version 2.3 ships on Tuesday."),
    ("We go with Postgres for the queue", "Decision: we use Redis for the queue instead"),
    ("We decided to use Jenkins for CI.", "We no longer use Jenkins; everything runs on Actions now."),
    ("我们决定用 Postgres 做队列", "我们改用 Redis 做队列"),
]
# True side by side, and what must not be read as a change.
APART = [
    ("other_thing", "Parcel 7712 is at the depot.", "Parcel 7721 is now at the depot."),
    ("other_thing", "OPS-44: the pager rings twice.", "OPS-47: the pager no longer rings."),
    ("other_thing", "Lane 2 is closed for repairs.", "Lane 5 is now closed for repairs."),
    ("other_thing", "Saal 1 zeigt den Dokumentarfilm.", "Saal 3 zeigt jetzt den Trickfilm."),
    ("other_thing", "第三组做市场调查。", "第四组现在做市场调查。"),
    ("other_thing", "二号楼的电梯坏了。", "五号楼的电梯现在坏了。"),
    ("other_person", "Ingrid drives the red van.", "Matteo drives the blue van."),
    ("other_person", "Dr. Okafor does rounds on Monday.", "Dr. Brandt does rounds on Thursday."),
    ("other_person", "My aunt lives in Cork.", "My uncle lives in Galway now."),
    ("other_person", "Lukas leitet die Gruppe.", "Hanna leitet die Gruppe."),
    ("other_person", "Selin runs the shop.", "Selin's brother runs the shop now."),
    ("other_person", "Selins Bruder fährt Taxi.", "Selin fährt jetzt Taxi."),
    ("other_person", "周老师教数学。", "吴老师教数学。"),
    ("other_person", "老马住在南京。", "老马的女儿现在住在南京。"),
    ("other_day", "The choir sang in Bath on 3 May.", "The choir sang in Bath on 9 July."),
    ("other_day", "Training für die Jugend ist am Dienstag.", "Training für die Jugend ist am Freitag."),
    ("other_day", "王工星期一值班。", "王工星期四值班。"),
    ("several", "Priya is allergic to peanuts.", "Priya is allergic to sesame."),
    ("several", "Omar likes ska.", "Omar likes dub."),
    ("several", "Vera has a canoe.", "Vera has a sewing machine."),
    ("several", "Vera speaks Czech.", "Vera speaks Maltese."),
    ("several", "Lena ist allergisch gegen Soja.", "Lena ist allergisch gegen Sellerie."),
    ("several", "Ich bin gegen Katzen allergisch.", "Ich bin gegen Gräser allergisch."),
    ("several", "我对花粉过敏。", "我对芒果过敏。"),
    ("several", "小许去过西藏。", "小许去过新疆。"),
    ("not_asserted", "I live in Bergen.", "What if I moved to Trondheim?"),
    ("not_asserted", "The shop opens at nine.", "Maybe the shop now opens at ten."),
    ("not_asserted", "The shop opens at nine.", "If we hire someone, the shop opens at ten instead."),
    ("not_asserted", "The shop opens at nine.", "The shop now opens at midnight, just kidding."),
    ("not_asserted", "Der Laden öffnet um neun.", "Öffnet der Laden jetzt um zehn?"),
    ("not_asserted", "店九点开门。", "要不要店改到十点开门"),
    ("not_asserted", "The shop opens at nine.", 'Note on the door: "The shop now opens at ten from Monday on."'),
]
# Nothing speaks against it but that it isn't so.
NEITHER = [
    ("The office in Berlin opens at nine", "The office in Paris now opens at ten"),
    ("Sarah prefers email over phone calls", "Sarah prefers tea over coffee"),
    ("We decided to use Postgres.", "We decided to hire Fatima."),
    ("Decision: the website launches on May 1.", "Actually, we use blue for the website header."),
    ("We use Datadog for the backend.", "Now we also use Sentry for the frontend."),
    ("We meet on April 14.", "We launch on April 14 in Berlin and Paris."),
    ("Wir nehmen das Angebot von Müller.", "Wir nehmen die Band von Jonas."),
    ("The kitchen tap drips.", "The kitchen light no longer works."),
    ("Der Drucker im Flur ist leer.", "Der Beamer im Flur ist jetzt kaputt."),
    ("我们决定用 Postgres 做队列", "我们决定周五发布"),
    ("Mira plays chess on Sundays.", "Mira moved her piano to the cellar."),
]


@pytest.mark.parametrize(("older", "newer"), RESTATED)
def test_what_is_plainly_restated_takes_the_place_of_the_older(older: str, newer: str) -> None:
    assert vetoes(older, newer) is None
    judged = judge_words(older, newer)
    assert (judged.relation, judged.sure) == ("update", True)


@pytest.mark.parametrize(("older", "newer"), LIKELY)
def test_what_only_looks_like_an_update_is_not_sure(older: str, newer: str) -> None:
    judged = judge_words(older, newer)
    assert (judged.relation, judged.sure) == ("update", False)


@pytest.mark.parametrize(("why", "older", "newer"), APART)
def test_what_names_another_thing_person_or_day_never_supersedes(why: str, older: str, newer: str) -> None:
    assert vetoes(older, newer) == why
    assert not judge_words(older, newer).sure


@pytest.mark.parametrize(("older", "newer"), NEITHER)
def test_what_has_words_in_common_and_another_matter_stays(older: str, newer: str) -> None:
    assert not judge_words(older, newer).sure


def test_the_same_in_other_letters_is_a_duplicate() -> None:
    assert judge_words("The tap drips.", "the tap drips!") == Judgement("duplicate", 1.0, sure=True)
    assert judge_words("User can't eat nuts", "User cannot eat nuts").relation == "duplicate"


def test_a_long_text_is_never_replaced_as_a_whole() -> None:
    older = "The shop opens at nine. " * 100
    assert not judge_words(older, older.replace("nine", "ten now")).sure


@given(st.text(max_size=200), st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_two_texts_can_be_judged_and_nothing_revises_itself(one: str, other: str) -> None:
    judge_words(one, other)
    assert judge_words(one, one).relation == "duplicate"


def test_work_grows_as_the_texts_do() -> None:
    def seconds(size: int) -> float:
        began = process_time()
        for mark in ("1 ", "a ", "room 3 ", "now ", "has ", "中", "我", "'s ", "Anna's ", "的"):
            judge_words(mark * size, mark * size + "now")
        return process_time() - began

    seconds(10)
    assert seconds(400) < 40 * max(seconds(100), 0.005)


class Learned(Judge):
    """A judge that says the same of every pair, and remembers what it was asked."""

    def __init__(self, **chances: float) -> None:
        super().__init__()
        none = dict.fromkeys(Relation._fields, 0.0)
        self.chances, self.asked = Relation(**none | chances), list[tuple[str, str]]()

    async def relations(self, pairs: Sequence[tuple[str, str]], *, awaited: bool = True) -> list[Relation]:
        self.asked += pairs
        return [self.chances for _ in pairs]


async def test_what_a_learned_judge_takes_for_the_same_is_held_against_the_words(services: Services) -> None:
    """What is taken for the same is dropped: that must not happen to what says something else."""
    judging = replace(services, judge=Learned(duplicate=0.99))
    judged = await judge_pairs(judging, CHANGED)
    same = [pair for pair, one in zip(CHANGED, judged, strict=True) if one.relation == "duplicate" and one.sure]
    assert same == []
    reworded = ("The caretaker keeps the spare key.", "To get our spare key, ring at the flat of the caretaker.")
    assert (await judge_pairs(judging, [reworded]))[0].sure


SWAPPED = ("Nora is on the night shift.", "Nora got the early shift in the new plan.")


async def test_a_learned_judge_is_asked_only_where_nothing_is_decided(services: Services) -> None:
    learned = Learned(update=0.97, duplicate=0.01, side_by_side=0.01, unrelated=0.01)
    same = ("The tap drips.", "the tap drips!")
    forbidden = ("Priya is allergic to peanuts.", "Priya is allergic to sesame.")
    judged = await judge_pairs(replace(services, judge=learned), [same, forbidden, SWAPPED])
    assert learned.asked == [SWAPPED]
    assert [judgement.relation for judgement in judged] == ["duplicate", "side_by_side", "update"]
    assert [judgement.sure for judgement in judged] == [True, False, True]
    assert not (await judge_pairs(replace(services, judge=None), [SWAPPED]))[0].sure


@pytest.mark.parametrize(
    ("chances", "relation"),
    [
        ({"update": 0.6, "side_by_side": 0.4}, "update"),
        ({"update": 0.35, "side_by_side": 0.6}, "update"),
        ({"update": 0.1, "side_by_side": 0.9}, "side_by_side"),
        ({"update": 0.1, "unrelated": 0.9}, "unrelated"),
        ({"duplicate": 0.7, "side_by_side": 0.3}, "duplicate"),
    ],
)
async def test_what_a_learned_judge_holds_likely_is_not_sure(
    services: Services, chances: dict[str, float], relation: str
) -> None:
    (judged,) = await judge_pairs(replace(services, judge=Learned(**chances)), [SWAPPED])
    assert (judged.relation, judged.sure) == (relation, False)
