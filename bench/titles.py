"""Whether made titles and topics stand for their texts.

    python -m bench.titles [--questions 25]

Three things are counted. On the paragraphs of XQuAD: does the title find its own paragraph among all (R@1 by BM25), and
does a question about a paragraph find it when only the titles are searched (R@5)? On the sessions of LongMemEval: does
a question find the session that answers it when only ten topics of each session are searched (any of them among the
first five)? Each stands beside baselines of the same length. Offline, in memory, a minute or two.
"""

import argparse
import random
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from bench.datasets import folder, load
from keepstone.engine import bm25, terms
from keepstone.engine.keyphrases import names, tags, topics
from keepstone.engine.language.sentences import lines, sentences, shortened
from keepstone.engine.language.stopwords import is_stop
from keepstone.engine.titles import LIMIT, LIMIT_UNSPACED, title

TOPICS = 10
Naming = Callable[[str], str]


class Index:
    """Texts to be searched by words."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.bags = [Counter(terms.terms(text)) for text in texts]
        self.lengths = np.array([bag.total() for bag in self.bags])
        self.df = Counter(term for bag in self.bags for term in bag)

    def rank(self, query: str, gold: set[int]) -> int:
        """The best rank of a gold text, from 1; ties count against it."""
        asked = [term for term in dict.fromkeys(terms.terms(query)) if term in self.df]
        if not asked:
            return len(self.bags)
        weights = bm25.idf([self.df[term] for term in asked], len(self.bags))
        frequencies = [[bag[term] for term in asked] for bag in self.bags]
        scores = bm25.score(frequencies, self.lengths, weights, float(self.lengths.mean()))
        return min(
            1 + sum(other >= scores[place] for at, other in enumerate(scores) if at not in gold) for place in gold
        )


def _limit(language: str) -> int:
    return LIMIT_UNSPACED if language == "zh" else LIMIT


def namings(language: str, dice: random.Random) -> dict[str, Naming]:
    limit = _limit(language)

    def one(text: str) -> str:
        return shortened(dice.choice([each for line in lines(text) for each in sentences(line.text)]), limit)

    return {
        "title": title,
        "first characters": lambda text: shortened(text, limit),
        "random sentence": one,
        "five tags": lambda text: " ".join(tags(text)),
    }


def xquad() -> list[tuple[str, str, float, float, float]]:
    data = load("xquad_dev.json.gz")
    found: list[tuple[str, str, float, float, float]] = []
    for language in ("en", "zh", "de"):
        texts = [entry["paragraph"] for entry in data[language]]
        whole = Index(texts)
        for name, naming in namings(language, random.Random(1)).items():
            named = [naming(text) for text in texts]
            own = [whole.rank(each, {place}) == 1 for place, each in enumerate(named)]
            titles = Index(named)
            asked = [
                titles.rank(asking["question"], {place}) <= 5
                for place, entry in enumerate(data[language])
                for asking in entry["questions"]
            ]
            size = float(np.mean([len(each) for each in named]))
            found.append((language, name, float(np.mean(own)), float(np.mean(asked)), size))
    return found


def longmemeval(most: int) -> list[tuple[str, float]]:
    hits: dict[str, list[bool]] = {}
    dice = random.Random(1)
    entries = [each for each in load("longmemeval_s_dev.json.gz") if not each["question_id"].endswith("_abs")]
    for entry in entries[:most]:
        sessions = [[turn["content"] for turn in said] for said in entry["haystack_sessions"]]
        gold = {at for at, key in enumerate(entry["haystack_session_ids"]) if key in entry["answer_session_ids"]}
        for name, named in _named(sessions, dice).items():
            hits.setdefault(name, []).append(Index(named).rank(entry["question"], gold) <= 5)
    return [(name, float(np.mean(hit))) for name, hit in hits.items()]


def answers(most: int) -> list[tuple[str, float]]:
    """Named answers of an assistant, searched with what the user had asked."""
    found: list[tuple[str, float]] = []
    for name, naming in namings("en", random.Random(1)).items():
        hits: list[bool] = []
        for entry in load("longmemeval_s_dev.json.gz")[:most]:
            turns = [turn["content"] for said in entry["haystack_sessions"] for turn in said]
            roles = [turn["role"] for said in entry["haystack_sessions"] for turn in said]
            places = [at for at in range(1, len(turns)) if roles[at] == "assistant" and roles[at - 1] == "user"][:200]
            names = Index([naming(turns[at]) for at in places])
            hits += [names.rank(turns[at - 1][:300], {number}) <= 5 for number, at in enumerate(places)]
        found.append((name, float(np.mean(hits))))
    return found


def _named(sessions: Sequence[Sequence[str]], dice: random.Random) -> dict[str, list[str]]:
    def any_words(texts: Sequence[str]) -> str:
        known = [word for text in texts for word in text.split() if not is_stop(word)]
        return " ".join(dice.sample(known, min(2 * TOPICS, len(known))))

    return {
        "topics": [" ".join(topics(texts, TOPICS)) for texts in sessions],
        "labels": [" ".join(each) for each in names(sessions, TOPICS)],
        "title of the whole": [title("\n\n".join(texts)) for texts in sessions],
        "twenty random words": [any_words(texts) for texts in sessions],
        "first 20 words": [" ".join(" ".join(texts).split()[: 2 * TOPICS]) for texts in sessions],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=25, help="of LongMemEval")
    asked = parser.parse_args()
    print(f"Data: {folder()}\n")
    print(
        "| XQuAD | named by | own paragraph R@1 | names asked for R@5 | characters |\n| --- | --- | --- | --- | --- |"
    )
    for language, name, own, questions, size in xquad():
        print(f"| {language} | {name} | {own:.3f} | {questions:.3f} | {size:.0f} |")
    print("\n| LongMemEval answers named by | found by what was asked, R@5 of 200 |\n| --- | --- |")
    for name, hit in answers(min(asked.questions, 5)):
        print(f"| {name} | {hit:.3f} |")
    print("\n| LongMemEval sessions named by | gold session any@5 |\n| --- | --- |")
    for name, hit in longmemeval(asked.questions):
        print(f"| {name} | {hit:.3f} |")


if __name__ == "__main__":
    main()
