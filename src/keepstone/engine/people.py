"""People: what a message says of whom, read by rules: preferences, plans, relations, places, work, dates, health.

Owns the rules, the key under which a newer statement supersedes an older one, and which statements hold at a time. It
must not guess: a statement keeps the words of the message, with its negation, and only the grammar turns from "I" to a
name. A question, a condition, a quotation, irony and whatever fits no rule give nothing, since junk in a memory costs
more than a gap. No database, no clock but for the default of `current`, no language model.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Literal, get_args

Kind = Literal["preference", "plan", "relation", "place", "work", "possession", "date", "health", "identity"]

# Nobody says more of themselves in one message; what does is a document.
MOST = 8
# What comes after so many characters is not read: nobody types that much about themselves, and the time stays bounded.
READ = 100_000
# A sentence or a line that is longer is prose, a log or a table, and its clauses can't be told apart by commas.
LONGEST = 400


@dataclass(frozen=True, slots=True)
class Statement:
    """What a message says of a person. `start` and `end` are the characters of the message that say it."""

    subject: str
    kind: Kind
    key: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern, the key (made with the pattern's groups), and the sentence where the message's words make none."""

    kind: Kind
    key: str
    pattern: re.Pattern[str]
    form: str
    timed: bool


def statements(speaker: str, text: str, speakers: Collection[str] = ()) -> list[Statement]:
    """What one message says of its speaker and of the other speakers that it names, in the message's order."""
    plain = text[:READ].translate(APOSTROPHES)
    if JOKE.search(plain):
        return []
    quoted = _quoted(plain)
    people = _people(speaker, speakers)
    lower = plain == plain.lower()
    found: dict[tuple[str, str], Statement] = {}
    for start, end in _clauses(plain):
        if _inside(start, quoted):
            continue
        for each in _read(plain, start, end, speaker, people):
            if lower or not _uncapitalised(each, plain):
                found.setdefault((each.subject, each.key), each)
        if len(found) >= MOST:
            break
    return list(found.values())[:MOST]


def current(
    found: Sequence[tuple[datetime, Statement]], as_of: datetime | None = None
) -> list[tuple[datetime, Statement]]:
    """The statements that hold at a time, oldest first: of each subject and key the last one said until then."""
    until = as_of or datetime.now(UTC)
    last: dict[tuple[str, str], tuple[datetime, Statement]] = {}
    for said, each in sorted(found, key=lambda pair: pair[0]):
        if said <= until:
            # Taken out first, so that the order stays that of the statements that hold.
            last.pop((each.subject, each.key), None)
            last[each.subject, each.key] = (said, each)
    return list(last.values())


# --- cutting a message ------------------------------------------------------------------------------------------------

# One character for one, so that places in the text stay what they are.
APOSTROPHES = str.maketrans({"’": "'", "ʼ": "'", "\u00a0": " "})
SENTENCE = re.compile(r"[^.!?。！？…\n]+(?:[.](?=\w)[^.!?。！？…\n]*)*[.!?。！？…]*")
# Where a new clause may begin: a mark, or a joining word before a subject of its own.
CLAUSE = re.compile(
    r"[,;:，；、]\s*|\s[-–—]+\s|—|\s(?=(?:and|but|so|because|since|cause|und|aber)\s(?:i|my|we|our|ich)\b)",
    re.IGNORECASE,
)
FENCE = re.compile(r"```.*?(?:```|\Z)|^[ \t]*>[^\n]*|^(?: {4}|\t)[^\n]*|`[^`\n]*`", re.DOTALL | re.MULTILINE)
MARKS = {"“": "”", "«": "»", "„": "“", "「": "」", "『": "』"}
QUOTE = re.compile(r'["“”«»„「」『』\n]|(?<!\w)\'(?=\w)|(?<=[\w.,!?])\'(?!\w)')

# The whole message is meant otherwise than it says.
JOKE = re.compile(
    r"(?<!\w)(?:jk|j/k|/s|/jk|kidding|joking|said no ?(?:one|body)|not really|not!|as a joke|"
    r"yeah,? right|as if|sarcasm|scherz"
    r"|nur spaß)(?!\w)|🙄|🙃|😜|roleplay|role-play|pretend|开玩笑",
    re.IGNORECASE,
)
# The rest of the sentence is not asserted: a condition, a wish, a guess, somebody else's words, a time when it holds.
UNSURE = re.compile(
    r"\b(?:if|unless|would|wouldn't|wish|imagine|suppose|supposing|maybe|perhaps|might|whenever|once upon|lyrics?"
    r"|hypothetically|song goes|says?|said|saying|told|tells|claims?|thinks?|thought|asked|quote|wenn|falls|vielleicht"
    r"|würde|sagte?)\b|如果|要是|假如|的话|也许|可能"
    r"|^\W*(?:when|while|before|after|until|as soon as|as a (?:kid|child)|growing up|back (?:when|then|in)|at first"
    r"|oh,? (?:great|sure|joy|yeah)|sure,|great,|wow,? i just)\b"
    r"|\b(?:just|absolutely|really|so) love (?:being|getting|waiting|having|paying|when|how)\b",
    re.IGNORECASE,
)
ASKING = re.compile(
    r"\s*(?:and |but |so )?(?:what|how|where|who|when|which|why|do|does|did|are|is|have|has|can|could|will|you|any)\b",
    re.IGNORECASE,
)
ASKED = re.compile(r"[?？]|吗\W*$|呢\W*$")


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    """Where the clauses are that assert something."""
    for match in SENTENCE.finditer(text):
        sentence = match.group()
        ends = len(sentence.rstrip(" .!?。！？…"))
        if len(sentence) > LONGEST:
            continue
        unsure = UNSURE.search(sentence)
        cuts = [(0, 0), *(cut.span() for cut in CLAUSE.finditer(sentence)), (ends, ends)]
        spans = [(before[1], after[0]) for before, after in pairwise(cuts)]
        if ASKED.search(sentence):
            # "I live in Rome, what about you?" asserts its first half; "I'm late, right?" nothing.
            spans = spans[:-1] if ASKING.match(sentence, spans[-1][0]) else []
        for start, end in spans:
            if unsure is None or (end <= unsure.start() and not _reports(sentence, unsure)):
                yield match.start() + start, match.start() + end


def _reports(sentence: str, unsure: re.Match[str]) -> bool:
    """Whether the doubt comes after what it is about: "I live in Rome, he said"; "I'd go if..."."""
    return sentence[unsure.start() :].lower().startswith(("if", "unless", "say", "said", "würde", "wenn", "falls"))


def _quoted(text: str) -> list[tuple[int, int]]:
    """Code, quoted lines and what stands in quotation marks, up to the line's end where a mark is never closed."""
    spans = [match.span() for match in FENCE.finditer(text)]
    opened, closing = -1, ""
    for match in QUOTE.finditer(text):
        mark = match.group()
        if opened >= 0 and mark in {closing, "\n"}:
            spans.append((opened, match.end()))
            opened = -1
        elif opened < 0 and mark not in {"\n", "”", "»", "」", "』"}:
            opened, closing = match.start(), MARKS.get(mark, mark)
    if opened >= 0 and closing != "'":
        spans.append((opened, len(text)))
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _inside(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    index = bisect_right(spans, (place, 1 << 62)) - 1
    return index >= 0 and spans[index][0] <= place < spans[index][1]


# --- the words of the rules -------------------------------------------------------------------------------------------
# A pattern is written as it is said: a space stands for any white space, <be> for what WORDS has under that name, and
# capitals count only inside <cap>. `what` is the object, `slot` and `name` are for the key. An indented line goes on.

NESTED = re.compile(r"(?<!\(\?P)<(\w+)>")
_KINDS: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}


def _lines(table: str) -> list[str]:
    kept = "\n".join(line for line in table.strip().split("\n") if not line.startswith("#"))
    return re.sub(r"\n +", "", kept).split("\n")


def _words(table: str) -> dict[str, str]:
    return dict(line.split(" = ", 1) for line in _lines(table))


WORDS = _words(r"""
adverb = (?: (?:really|absolutely|also|still|now|just|always|totally|actually|currently|mostly|truly|recently|finally|
    do|definitely|already|usually|personally|especially|simply|genuinely|both|officially|originally)){0,2}
# A negation stays in the text, because the text is made from the words.
be = (?:'m|m(?=\s)|'s|'re| am| is| are)(?: not|n't| no longer| never)?<adverb>
have = (?:'ve|ve(?=\s)|'s| have| has)(?: never)?<adverb>
do = <adverb>(?: (?:do|does)(?: not|n't)| dont| doesnt| no longer| never)?<adverb>\s+
not = <adverb>(?: (?:do|does)(?: not|n't)| dont| doesnt| can(?:'t|not)| no longer| never| only)<adverb>\s+
did = (?:<adverb>|<have>)\s+
thing = (?P<what>\S.*)
month = (?:jan(?:uary)?|feb(?:ruary)?|march|april|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|
    nov(?:ember)?|dec(?:ember)?)
day = (?:mon|tues|wednes|thurs|fri|satur|sun)day
nth = \d{1,2}(?:st|nd|rd|th)?
date = (?:(?:the )?<nth>(?: of)? <month>\b|<month>\b(?: (?:the )?<nth>\b)?|\d{1,4}[./-]\d{1,2}(?:[./-]\d{1,4})?|
    (?:next|this) <day>)(?:,? \d{4})?
season = (?:spring|summer|fall|autumn|winter)
when = (?:(?:later )?(?:next|this|the coming) (?:week(?:end)?|month|year|semester|<season>|<day>|<month>)|tomorrow|
    in (?:early |late |mid-?)?<month>\b|in (?:an?|\d+|two|three|four|a few) (?:day|week|month|year)s?|on (?:<day>|
    <date>)|in 20\d\d|in the <season>)
cap = (?-i:[^\W\d_a-zß-öø-ÿ][\w-]*\w(?:'[A-Z]\w+)?)
caps = <cap>(?:(?: |-)(?:(?:de|of|del|la|am|upon|van|von|da) )?<cap>){0,3}
# What is written with a capital after "my sister" and is not her name.
noname = (?:<day>|i|and|but|the|is|was|so|he|she|we|they|who|what|has|had|just|god|christmas|easter|thanks|ok|german|
    french|dutch|greek|swiss|\w+(?:ish|ese|ican))\b
name = (?!<noname>)<cap>(?: (?:(?:van|von|de|da|del) )?(?!<noname>)<cap>){0,2}
dwelling = (?:town|village|city|suburbs?|countryside|house|flat|apartment|studio|cabin|farm|condo|dorm|hostel)
noplace = (?:fear|hope|peace|pain|denial|hiding|poverty|harmony|comfort|silence|style|luxury|reality|exile|theory|
    here|there|my|your|his|her|our|their|an?|the|this|that|it|what|constant|two|another|one|with|and|town)\b
# A name with a capital, a kind of dwelling, or one bare word, which counts only in a message without any capitals.
place = (?P<what>(?:the )?<caps>(?:, <cap>)?|(?:an?|the) (?:[\w-]+ ){0,3}<dwelling>\b(?: (?:near|in|by|of|outside|
    outside of) (?:the )?<caps>)?|(?!<noplace>)(?-i:[a-z]{3,})(?=\s*$| (?:now|since|for|these|with|again|right|at)\b))
count = (?:an?|one|two|three|four|five|six|\d+|no|any)
some = (?:[\w-]+ ){0,3}?
pet = (?:dog|puppy|pup|cat|kitten|kitty|rabbit|bunny|hamster|guinea pig|parrot|horse|pony|turtle|tortoise|snake|gecko|
    lizard|ferret|bird)
owned = (?:<pet>|car|truck|van|bike|bicycle|motorcycle|motorbike|scooter|boat|house|flat|apartment|condo|cottage|
    piano|guitar|violin|garden|telescope|camera)
# What follows a thing that is owned; another noun makes another thing of it, as in "a car payment".
link = and|but|with|in|at|from|now|named|called|too|last|this|two|three|a|yesterday|today|again|so|
    because|since|any ?more
# Of these one has one, so that a new one takes the place of the old; of the others there may be many.
only = (?:wife|husband|partner|fianc[eé]e?|girlfriend|boyfriend|spouse|mother|mom|mum|father|dad|boss|manager|
    landlord|landlady|therapist|mother-in-law|father-in-law)
many = (?:sister|brother|son|daughter|friend|best friend|cousin|aunt|uncle|niece|nephew|grandma|grandmother|grandpa|
    grandfather|colleague|co-?worker|roommate|flatmate|housemate|neighbou?r|kid|child|stepson|stepdaughter|
    sister-in-law|brother-in-law|twin|teacher|coach|mentor|tutor)
kin = (?:sister|brother|son|daughter|cousin|kid|niece|nephew|twin|roommate|flatmate)
which = (?:(?:older|younger|little|big|elder|eldest|oldest|youngest|twin|new|dear|lovely|beautiful|good|
    close|black|white|rescue|childhood|baby) ){0,2}
called = (?:,? |'s name is | is (?:called |named )?)
job = (?:nurse|doctor|teacher|engineer|developer|programmer|designer|architect|lawyer|paralegal|accountant|chef|cook|
    baker|waiter|waitress|barista|bartender|writer|author|journalist|editor|translator|photographer|filmmaker|actor|
    actress|musician|singer|dancer|artist|painter|sculptor|scientist|researcher|professor|lecturer|postdoc|physicist|
    chemist|biologist|psychologist|psychiatrist|therapist|counsell?or|social worker|pharmacist|dentist|surgeon|vet|
    veterinarian|paramedic|midwife|firefighter|police officer|soldier|veteran|pilot|flight attendant|(?:bus|taxi|
    truck|train|tram|delivery) driver|mechanic|electrician|plumber|carpenter|welder|farmer|gardener|librarian|
    secretary|receptionist|manager|consultant|analyst|banker|realtor|hairdresser|tailor|tutor|coach|personal trainer|
    instructor|student|undergrad|freelancer|entrepreneur|stay-at-home (?:mom|mum|dad|parent)|civil servant|economist|
    geologist|intern|trainee|apprentice)
# "A terrible cook" is no job.
judged = (?:pretty|bad|terrible|good|great|decent|slow|fast|better|big|huge|horrible|lousy|amazing|natural|total|such|
    prospective|real|very)
ill = (?:asthma|(?:type [12] )?diabetes|adhd|autism|epilepsy|migraines?|arthritis|depression|anxiety|insomnia|
    coeliac(?: disease)?|celiac(?: disease)?|crohn's(?: disease)?|cancer|high blood pressure|hypertension|hay fever|
    ptsd|ocd|endometriosis|psoriasis|eczema|tinnitus|scoliosis|ibs|pcos|dyslexia|lupus|gout|covid|pneumonia)
limb = (?:(?:left |right )?(?:leg|arm|wrist|ankle|foot|hand|toe|finger|hip|knee|shoulder|collarbone|nose|rib|acl))
liking = (?:loves?|likes?|enjoys?|adores?|hates?|dislikes?|detests?|despises?|prefers?)
drawn = (?:into|fond of|crazy about|obsessed with|passionate about|keen on|addicted to|(?:afraid|scared|terrified) of)
shop = (?:shop|store|bakery|caf[eé]|restaurant|studio|business|company|agency|farm|startup|salon|gym|blog)
doing = (?:visiting|starting|getting married|flying to|travell?ing to|taking|running|retiring|having surgery|going on|
    hosting|throwing|launching|putting together)
# Only what changes a life or takes a journey is worth keeping without a date: "planning to use butter" is not.
life = (?:visit(?:ing)?|attend(?:ing)?|apply(?:ing)?|travel(?:l?ing)?|fly(?:ing)?|study(?:ing)?|learn(?:ing)?|
    start(?:ing)?(?! (?:with|by|off|from))|open(?:ing)?|launch(?:ing)?|buy(?:ing)?|sell(?:ing)?|marry(?:ing)?|
    retir(?:e|ing)|quit(?:ting)?|adopt(?:ing)?|join(?:ing)?|propose|volunteer(?:ing)?|become|becoming|return(?:ing)?|
    pursu(?:e|ing)|run(?:ning)? (?:for|an?)|enroll?(?:ing)?|major(?:ing)?|get married|getting married|go(?:ing)? to|
    have (?:kids|a baby))
outing = (?:trip|party|wedding|vacation|holiday|getaway|honeymoon|shower|reunion|tournament|fundraiser|event|concert|
    visit|tour|hike)
event = (?:birthday|wedding(?: anniversary)?|anniversary|surgery|exam|interview|due date|flight|graduation)
# German objects have capitals; Chinese ones end where the grammar goes on.
ding = (?P<what>(?-i:[A-ZÄÖÜ])[\w-]+(?: (?-i:[A-ZÄÖÜ])[\w-]+)?)
wie = (?P<how>(?: (?:jetzt|auch|sehr|gerne?|wirklich|nicht|keine?[nrsm]?|seit kurzem|total|hier)){0,3})
物 = (?P<what>[^\s，。！？,.!?；、的了吗呢吧你他她它这那]{1,12})
""")


def _pattern(written: str) -> re.Pattern[str]:
    opened = re.sub(r"\n\s*", "", written)
    while (deeper := NESTED.sub(lambda name: WORDS[name[1]], opened)) != opened:
        opened = deeper
    return re.compile(opened.replace(" ", r"\s+"), re.IGNORECASE)


def _rules(table: str) -> tuple[Rule, ...]:
    """Rules from lines of kind, what the key names, pattern and, after an arrow, the sentence."""
    found: list[Rule] = []
    for line in _lines(table):
        kind, about, written = re.split(r" {2,}", line, maxsplit=2)
        written, _, form = written.partition("  =>  ")
        form = form.replace("<has>", "{who} has {a} {slot} named {what}")
        name = _KINDS[kind.removesuffix(" timed")]
        found.append(Rule(name, f"{name}:{about}", _pattern(written), form, kind.endswith(" timed")))
    return tuple(found)


# What follows "I", "we" or a speaker's name. They are tried in this order, and the first that fits a clause decides.
PREDICATES = _rules(r"""
# I'm allergic to peanuts; she's lactose intolerant; I have asthma; I was diagnosed with ADHD; I broke my wrist
health  allergy to {what}  <be> (?:\w+ly )?allergic to <thing>
health  {what}  <be> (?P<what>(?:lactose|gluten)[ -]intolerant|diabetic|asthmatic|dyslexic|pregnant)\b
health  {what}  (?:<have>|<do>(?:have|has|suffers? from)|<have> got) (?P<what><ill>)\b
health  {what}  (?:<have> been| was| got| were)<adverb> diagnosed with <thing>
health  {what}  <adverb> (?:broke|sprained|fractured|tore) (?:my|his|her|their) (?P<what><limb>)\b
# I'm vegetarian; I'm not vegan any more
preference  diet  <be> (?:an? )?(?P<what>vegetarian|vegan|pescatarian|pescetarian|teetotal(?:l?er)?)\b
# I live in Lisbon; we're based in Berlin; I moved to a small town near Porto
place  home  <do>(?:lives?|resides?) in <place>
place  home  <be> (?:living|based) in <place>
place  home  <did>(?:moved|relocated)(?: back)? to <place>
# I'm from Porto; I come from Peru; I was born in 1990; I was born in Kyoto; I grew up in Ohio
place  origin  (?:<be> |<do>comes? )from <place>
date  birth  \s+was born (?:on|in) (?P<what><date>|(?:19|20)\d\d\b)
place  birth  \s+was born(?: and raised)? in <place>
place  childhood  <adverb> grew up in <place>
# I'm 34 years old; I'm called Mo; I speak French
identity  age  <be>(?: turning)? (?P<what>\d{1,2})(?: years old|\s*$)
identity  name  <be> (?:called|named) (?P<what><name>)
identity  speaks {what}  <do>speaks? (?:fluent |some |a little )?(?P<what><cap>)
# I'm married to Tom; I'm dating Ana; I'm single; I got engaged; I have two sisters
relation  spouse  <be>(?: happily)? married to (?P<what><name>)
relation  partner  <be> (?:dating|engaged to|seeing) (?P<what><name>)
relation  status  (?:<be>|<adverb> got) (?P<what>single|divorced|engaged|widowed|married)\b(?! (?:in|with)|-)
relation  {what}  (?:<do>ha(?:ve|s)|<have> got) (?:<count> |(?=(?:kids|children|
    siblings)\b))<which>(?P<what>(?:<only>|<kin>)s?|children|siblings)\b(?! (?:who|that|in))
# I work as a cook; I work at Siemens; I work in finance; I started a new job at Bosch; I quit my job; I'm a nurse
work  job  <do>works? as (?P<what>an? .+)
work  employer  (?:<do>works?|<be> (?:working|employed)) (?:at|for) (?P<what>(?:the )?<caps>|an? (?!living).+)
work  field  <do>works? in (?!an?\b|the\b|my\b)(?P<what>[\w-]+(?: [\w-]+)?)\s*$
work  job  <did>(?:started|got|accepted|landed) (?:an?|the|my) (?:new )?(?:job|position) as (?P<what>an? .+)
work  employer  <did>(?:started|got|accepted|landed) (?:an?|the|my) (?:new )?(?:job|position) (?:at|with) <thing>
work  employer  <did>(?P<what>(?:quit|lost|left) (?:my|her|his|their) job(?: at <caps>)?)
work  job  <be> (?P<what>an? (?!<judged>\b)<some><job>\b(?: (?:at|for) <caps>)?|unemployed|retired|self-employed|
    between jobs)(?!\w|'s| (?:in|at) heart)
# I study law; I'm majoring in physics; I own a bakery
work  study  (?:<do>(?:study|studies|majors? in)|<be> (?:studying|majoring in)) (?!for\b|hard\b|all\b|with\b|
    at (?:home|night)|so\b|a lot|too\b|abroad\b)<thing>
work  business  (?:<do>(?:owns?|runs?)|<did>(?:opened|started)) (?P<what>(?:an?|(?:my|our|her|his|
    their) own) <some><shop>)\b
# I have a dog named Rex; we got a kitten; I bought a car
possession  {what} {name}  (?:<do>(?:have|has|owns?|drives?|rides?)|<have> got|<did>(?:got|bought|adopted)) <count>\s+
    <some>(?P<what><owned>)s?(?=[,.]|$| (?:<link>)\b)(?:,? (?:named|called) (?P<name><name>))?
# I don't eat meat; I only drink decaf; I don't smoke; I gave up sugar
preference  {what}  <not>(?:eats?|drinks?|smokes?) (?!any ?more|at all)<thing>
preference  {what}  <not>(?P<what>drink|smoke|drinks|smokes)(?= any ?more| at all|\s*$)
preference  {what}  <did>(?:stopped|quit|gave up|given up) (?:eating |drinking )?(?!trying|my\b|the\b|by\b)<thing>
# I love hiking; I don't like olives; I can't stand noise; I'm into jazz; I'm a big fan of jazz; I'm a cat person
preference  {what}  <do><liking> <thing>
preference  {what}  \s+can(?:'t|not) stand <thing>
preference  {what}  <be> (?:very |a bit |super |so )?<drawn> <thing>
preference  {what}  <be> (?:an?|the) (?:(?:big|huge|massive|great|real|total) )?(?:fan|lover) of <thing>
preference  {what}  <be> an? (?:total |big )?(?P<what>(?:dog|cat|coffee|tea|morning|beach) person|night owl|
    early bird)\b
# I'm moving to Munich in May: one plan of moving, whatever the town
plan  move  (?:<be>(?: (?:going|planning) to move| moving| gonna move)| will move|'ll move|
    <adverb> plans? to move)(?: back)? to <place>(?: <when>)?
# I'm planning to learn Welsh; I'm planning a trip to Oslo; I've decided to study law
plan  {what}  (?:<be> planning|<do>plans?) (?:to|on) (?P<what><life>\b.*)
plan  {what}  <be> planning (?P<what>(?:an?|our|my) <some><outing>\b.*)
plan  {what}  <did>decided (?:not )?to (?P<what><life>\b.*)
plan timed  {what}  (?:<be> planning|<do>plans?) (?:to|on) <thing>
# Only with a time is it more than talk: I'm going to visit Oslo next week; I'll run a marathon in May
plan timed  {what}  (?:<be> (?:going to|gonna)| will(?: not)?|'ll| won't)<adverb> <thing>
plan timed  {what}  <be> (?P<what><doing> .+)
""")

# What begins with "my" or "our", wherever in a clause.
POSSESSIVES = _rules(r"""
# my favourite food is ramen; my name is Mo; my pronouns are they/them
preference  favourite {slot}  my (?:all[ -]time )?favou?rite (?P<slot>(?:[\w-]+ ){0,3}[\w-]+) (?:is|are) <thing>
identity  name  my name(?:'s| is) (?P<what><name>)
identity  pronouns  my pronouns are (?P<what>\w+(?:/\w+)+)
# my birthday is on 4 May; my sister's birthday is in June
date  {slot}  (?:my|our) (?P<slot>(?:(?:<only>|<many>)'s )?<event>)(?:'s| is) (?:on |in )?(?P<what><date>)
# my wife Ana; my wife's name is Ana; my friend Bo; my dog is called Rex
relation  {slot}  my <which>(?P<slot>(?-i:<only>))<called>(?P<what><name>)  =>  <has>
relation  {slot} {what}  my <which>(?P<slot>(?-i:<many>))<called>(?P<what><name>)  =>  <has>
possession  {slot} {what}  (?:my|our) <which>(?P<slot>(?-i:<pet>))<called>(?P<what><name>)  =>  <has>
""")

# German and Chinese: the whole clause, and how it reads in the third person.
FOREIGN = _rules(r"""
place  home  ich (?:wohne|lebe)<wie> in <ding>  =>  {who} wohnt{how} in {what}
place  origin  ich komme<wie> aus <ding>  =>  {who} kommt{how} aus {what}
identity  name  ich hei(?:ß|ss)e <ding>  =>  {who} heißt {what}
preference  {what}  ich mag<wie> <ding>(?P<slot> nicht)?  =>  {who} mag{how} {what}{slot}
preference  {what}  ich (?P<how>lieb|hass)e <ding>  =>  {who} {how}t {what}
work  employer  ich arbeite<wie> bei <ding>  =>  {who} arbeitet{how} bei {what}
work  job  ich arbeite<wie> als <ding>  =>  {who} arbeitet{how} als {what}
health  allergy to {what}  ich bin<wie> allergisch gegen <ding>  =>  {who} ist{how} allergisch gegen {what}
identity  name  (?:我叫|我的名字[叫是])<物>  =>  {who}叫{what}
place  home  我(?P<how>现在|不|已经不)?住在<物>  =>  {who}{how}住在{what}
place  origin  我来自<物>  =>  {who}来自{what}
health  allergy to {what}  我对(?P<what>[^\s，。！？不]{1,12}?)过敏  =>  {who}对{what}过敏
work  employer  我在(?P<what>[^\s，。！？在不]{1,12}?)(?P<how>工作|上班)  =>  {who}在{what}{how}
preference  {what}  我(?P<how>(?:很|最|不|也|非常|特别|不太)?(?:喜欢|讨厌|爱吃|爱喝))<物>  =>  {who}{how}{what}
""")

# --- reading a clause -------------------------------------------------------------------------------------------------

LEAD = _pattern("""\\s*(?:(?:and|but|so|well|oh|hey|hi|yes|yeah|yep|no|nope|ok|okay|actually|also|plus|honestly|btw|
    by the way|personally|because|since|cause|anyway|sorry|thanks|sadly|unfortunately|luckily|currently|now|these days|
    in fact|fyi|today|update|und|aber|ja|nein|<when>) ){0,3}""")
SELF = re.compile(r"(?:i(?=['m\s])|we(?=['\s]))", re.IGNORECASE)
OTHER = _pattern("(<cap>)(?: (<cap>))?")
MINE = re.compile(r"\b(?:my|our)\b", re.IGNORECASE)
# Where a phrase ends: what comes after explains or begins anew.
END = _pattern("""\\s+(?:because|cause|when|while|but|so(?! much)|since|although|though|if|even|as|
    and (?:i|we|my|it|that|this|then|also|the|now|need|want|have|would|<liking>)|for (?:years|a while|now)|haha|lol|tbh|
    too|either|btw)(?=[ '.,!?)]|$)|\\s*[(…<>=|{}\\[\\]]|\\s*[.!?]+$| [^\\w\\s&'$€£"].*|-+ """)
# An object that points at something outside the sentence, or a verb that says nothing by itself, is not remembered.
POINTING = _pattern("""(?:how|when|what|where|why|who|all|every|everything|nothing|being|seeing|hearing|having|
    getting(?! married)|one|ones|some|any|such|both|her|his|their|to (?:be|see|hear|know|think|say|get|have|just)|
    an? (?:lot|bit|few|couple|while)|so|too|just|not|about|more|him|have(?! (?:kids|a baby))|
    (?:be|see|need|try|let|check|look|keep|do|give|head|say|miss|go (?:now|back)|make|cook|watch|shop|send|talk|call|
    email|order|use|grab|finish)|
    (?-i:the) (?!(?-i:[A-Z])\\w+$|outdoors|beach|sea|ocean|mountains|countryside|cold|heat|rain|snow|summer|winter|
    piano|guitar|theat|gym))\\b""")
ADDRESSED = _pattern("""\\b(?:you|your|yours|u|ya|yourself|it|its|it's|this|that|these|those|
    him|them|they|he|she|there|i|i'm|i've|we|uh|um|which|who|whom|where|how|something|anything|stuff|things?)\\b""")
# A negation behind the object would be lost with the rest of the clause: "I live in Rome no more".
NEGATED = re.compile(r"\b(?:no more|no longer|not|never|nicht|nie|kaum)\b|不", re.IGNORECASE)
DANGLING = _pattern("(?:^| )(?:to|an?|the|in|of|for|with|and|or|at|on|my|our|making|some|from|by|about|such)$")
TAIL = _pattern("""(?: (?:any ?more|now|so much|very much|a lot|these days|at all|again|right now|the most|as well|more|
    most|lately|at the moment|together|best|too|soon|for|on|in|by))+$""")
HEAD = _pattern("^(?:(?:an?|the|my|our|to|some|any|really|eating|drinking|playing|watching|on) )+")
PREFERRED = _pattern(" (?:(?:more|better|rather) than|instead of|over|to|than) .*")
WHEN = _pattern("\\b<when>\\b")
# A longer object was not read to its end by any rule, and would be cut somewhere.
WORDY = 12
BE = dict.fromkeys(("'m", "m", "am", "are", "'re"), "is")
HAVE = dict.fromkeys(("'ve", "ve", "have"), "has")
DO = {"do": "does", "don't": "doesn't", "dont": "doesn't", "study": "studies", "'ll": "will"}
THIRD = BE | HAVE | DO
REGULAR = _pattern("""love|like|enjoy|adore|hate|dislike|detest|despise|prefer|live|reside|come|speak|work|own|run|plan|
    major|drive|ride|suffer|eat|drink|smoke""")
# A verb that is the same for everybody: what follows it doesn't turn either.
FINITE = _pattern("can|can't|cannot|will|won't|was|were|got|has|is|does|doesn't")
THEY = {"my": "their", "our": "their", "me": "them", "us": "them", "myself": "themself", "mine": "theirs"}
PRONOUN = re.compile(rf"\b(?:{'|'.join(THEY)})\b", re.IGNORECASE)


def _people(speaker: str, speakers: Collection[str]) -> Mapping[str, str]:
    """Speakers by their full name and by their first, unless two of them share it."""
    found: dict[str, str] = {}
    shared: set[str] = set()
    for person in {speaker, *speakers}:
        first = person.split(maxsplit=1)[0] if person.strip() else person
        for name in {person, first}:
            if found.setdefault(name, person) != person:
                shared.add(name)
    return {name: person for name, person in found.items() if name not in shared or name == person}


def _read(plain: str, start: int, end: int, speaker: str, people: Mapping[str, str]) -> Iterator[Statement]:
    """The statements of one clause: one of its subject, and those of "my sister Ana" wherever it stands."""
    clause = plain[start:end]
    lead = LEAD.match(clause)
    begin = lead.end() if lead else 0
    subject, after = _subject(clause, begin, speaker, people)
    if subject is not None:
        for rule in PREDICATES:
            match = rule.pattern.match(clause, after)
            if match and (not rule.timed or WHEN.search(clause)):
                head = clause[after : match.start("what")]
                head = subject + (_turned(head) if SELF.match(clause, begin) else head)
                yield from _made(rule, match, subject, head, start, begin)
                # What this rule refuses is not for a weaker one.
                break
    for mine in MINE.finditer(clause):
        for rule in POSSESSIVES:
            match = rule.pattern.match(clause, mine.start())
            if match:
                head = f"{speaker}'s{clause[mine.end() : match.start('what')]}"
                yield from _made(rule, match, speaker, head, start, mine.start())
                break
    for rule in FOREIGN:
        match = rule.pattern.match(clause, begin)
        if match:
            yield from _made(rule, match, speaker, "", start, begin)
            break


def _subject(clause: str, begin: int, speaker: str, people: Mapping[str, str]) -> tuple[str | None, int]:
    """Whom a clause is about, and where what it says of them begins."""
    match = SELF.match(clause, begin)
    if match:
        return speaker, match.end()
    match = OTHER.match(clause, begin)
    if match and match.group() in people:
        return people[match.group()], match.end()
    if match and match[1] in people:
        return people[match[1]], match.end(1)
    return None, begin


def _made(rule: Rule, match: re.Match[str], subject: str, head: str, start: int, begin: int) -> Iterator[Statement]:
    phrase = _phrase(rule.kind, match)
    if phrase is None:
        return
    groups = {name: value or "" for name, value in match.groupdict().items()}
    apart = match.string[match.end("slot") : match.start("what")].strip(" ,") if "slot" in groups else ""
    if rule.form and not apart:
        article = "an" if groups.get("slot", "")[:1] in "aeiou" else "a"
        text = rule.form.format(**{**groups, "who": subject, "a": article})
    else:
        text = head + _they(phrase)
    early = WHEN.search(match.string, 0, begin)
    if early:
        text += f" {early.group().lower()}"
    key, end = _key(rule, groups, head, phrase), match.start("what") + len(phrase)
    yield Statement(subject, rule.kind, key, " ".join(text.split()), start + begin, start + end)


def _phrase(kind: Kind, match: re.Match[str]) -> str | None:
    """The object of a match, cut where the phrase ends; None where it is nothing to remember."""
    start, end = match.span("what")
    cut = END.search(match.string, start, end)
    phrase = match.string[start : cut.start() if cut else match.end()].rstrip(" \t.,!?~*_-")
    if kind == "plan" and (timed := WHEN.search(phrase)):
        phrase = phrase[: timed.end()]
    if NEGATED.search(match.string, max(start + len(phrase), match.end() if match.end() > end else 0)):
        return None
    if not any(map(str.isalnum, phrase)) or len(phrase.split()) > WORDY or DANGLING.search(phrase):
        return None
    if kind in {"preference", "plan", "health"} and (POINTING.match(phrase) or ADDRESSED.search(WHEN.sub("", phrase))):
        return None
    return phrase


def _key(rule: Rule, groups: Mapping[str, str], head: str, phrase: str) -> str:
    what = groups["what"] if "name" in groups else phrase
    if rule.kind == "plan":
        what = WHEN.sub("", what)
    if "prefer" in head or " than " in what:
        what = PREFERRED.sub("", what)
    plain = {name: _plain(value) for name, value in {**groups, "what": what}.items()}
    return " ".join(rule.key.format(**plain).split())[:80]


def _plain(phrase: str) -> str:
    """A phrase without what changes from one time it is said to the next."""
    return HEAD.sub("", TAIL.sub("", phrase.strip()).casefold()).strip("\"'“”.,!? ")


def _turned(head: str) -> str:
    """The words between the subject and the object, from the first person to the third."""
    words = re.findall(r"\s*'?[\w'-]+|\W+", head)
    for index, word in enumerate(words):
        bare = word.strip().lower()
        if FINITE.fullmatch(bare):
            break
        if bare in THIRD or REGULAR.fullmatch(bare):
            words[index] = f" {THIRD[bare]}" if bare in THIRD else f"{word}s"
            break
    return _they("".join(words).replace(" both ", " "))


def _they(words: str) -> str:
    return PRONOUN.sub(lambda match: THEY[match.group().lower()], words)


def _uncapitalised(each: Statement, plain: str) -> bool:
    """Whether a place is written small in a message that has capitals: "I live in fear", and not "i live in rome"."""
    if each.kind != "place" and each.key != "plan:move":
        return False
    where = re.search(r"\b(?:in|to|from|In|aus)\s+(?P<first>\S+)", plain[each.start : each.end])
    return where is not None and where["first"].islower() and where["first"] not in {"a", "an", "the"}
