"""What clusters are called: short, capitalised, each another, from tags or from what their texts share."""

import numpy as np

from keepstone.engine.topics import Text, names, with_tags


def of(tag: str, *titles: str) -> list[Text]:
    return [Text(title, "", (tag,) if tag else ()) for title in titles]


CLUSTERS = {
    0: of("garden", "Tomatoes on the south wall", "What the slugs left alone", "When to cut the apple tree"),
    1: of("hanse-bank", "SSO questions", "An export for auditors"),
    2: of("", "Exchange rate of the euro went down", "The exchange rate in May", "Which exchange rate we book with"),
    3: of("", "连接池太小", "连接池改成二十", "连接池又满了"),
}


def test_tags_name_a_cluster_first_then_what_its_texts_share() -> None:
    named = names(CLUSTERS, {})
    assert (named[0], named[1], named[3]) == ("Garden", "Hanse bank", "连接池")
    assert named[2].casefold() == "exchange rate"
    assert named[2][0] == "E"


def test_a_name_that_is_known_stays_and_is_not_given_twice() -> None:
    named = names({**CLUSTERS, 4: of("garden", "Compost that worked", "Roses")}, {4: "Garden"})
    assert named[4] == "Garden"
    assert len({name.casefold() for name in named.values()}) == len(named)
    assert named.get(0) != "Garden"


def test_no_name_is_a_title_cut_off() -> None:
    titles = [f"Restaurants worth the very long detour {place} of last year" for place in ("Porto", "Faro", "Braga")]
    named = names({0: of("", *titles), 1: CLUSTERS[0]}, {})
    assert all(0 < len(name) <= 28 and "…" not in name and len(name.split()) <= 3 for name in named.values())


def test_texts_with_a_tag_in_common_are_more_alike() -> None:
    vectors = np.random.default_rng(1).normal(size=(30, 16)).astype(np.float32)
    tagged = with_tags(vectors, [["even" if row % 2 == 0 else "odd"] for row in range(30)])
    plain = with_tags(vectors, [[]] * 30)
    assert tagged[0] @ tagged[2] > plain[0] @ plain[2]
    assert with_tags(vectors, [["all"]] * 30).shape == plain.shape, "a tag that everybody has says nothing"


def test_no_name_is_a_month_a_verb_or_a_fragment_of_a_word() -> None:
    groups = {
        0: [f"Marathon training: the {run} felt good, the rest did not." for run in ("long run", "sprint", "warm-up")],
        1: [f"For the trip to Lisbon in May: {way} on the first day." for way in ("tram 28", "the ferry", "Belém")],
        2: [
            f"机器学习：{what}对结果影响最大，这次测了{count}组。"
            for what, count in (("嵌入模型", 3), ("学习率", 5), ("负样本", 8))
        ],
    }
    named = names({number: [Text("", text, ()) for text in texts] for number, texts in groups.items()}, {})
    assert named[0] == "Marathon training"
    assert named[1] in {"Trip", "Lisbon"}
    assert named[2] == "机器学习"
