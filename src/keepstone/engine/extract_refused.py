"""What extraction passes over: questions, errands, play, texts handed in, doubt, what passes, and secrets.

Tables only, in English, and the main patterns in Chinese, German and Spanish; what is done with them is in `extract`.
They are tried on one sentence or line in small letters, but for those that look for capitals or secrets. An indented
line goes on, and `<lead>` stands for what PARTS has under that name.
"""

import re
from collections.abc import Mapping


def small(text: str) -> str:
    """In small letters as the tables want it, and as long as the text: few letters of few scripts would not be."""
    low = text.lower().replace("’", "'")
    return low if len(low) == len(text) else text


def _joined(table: str) -> str:
    return re.sub(r"\n +", "", table)


PARTS = {
    # Says how a sentence hangs together with what was said before, and nothing of its own.
    "lead": _joined(r"""(?:(?:ok(?:ay)?|so|well|oh|and|but|also|btw|by the way|just|hi|hey|hello|thanks?|great|cool|
    actually|honestly|anyway|plus|now|yes|yeah|no|sure|right|personally|unfortunately|luckily|one more thing|
    in general|generally|usually|normally|hallo|übrigens|ja|hola|por cierto|bueno|另外|其实|对了|
    顺便说一下)\b[\s,:;.!–—，：-]*){0,4}"""),
    # Said in order to be remembered.
    "told": _joined(r"""(?:(?:fyi|for (?:context|reference|the record|your information)|just so you know|heads up|
    (?:quick )?update(?=[:,])|(?:some |my )?(?:background|context)(?=[:,])|note(?: for later| to self)?|
    (?:please )?(?:remember|note|keep in mind|bear in mind|don't forget)(?= (?:that|my|our|the|we|i)\b|[:,])|zur info|
    merk dir|denk daran|para que sepas|recuerda|ten en cuenta|记住|请记住|记一下|
    备注)\b\s*(?:that|dass|que)?[\s,:;–—，：-]*)"""),
    # Begins a question, also one that is typed without its mark.
    "asking": _joined(r"""(?:what|what's|whats|how|how's|where|who|why|which|whose|
    when (?:is|are|was|will|does|do|did|should|can)|(?:do|does|did|are|is|am|was|were|have|has|can|could|would|should|
    will|isn't|don't|doesn't|aren't) (?:you|i|we|it|there|this|that|these|those|they|he|she|my|our|your|the|an?|any\w*|
    some\w*|people|\w+s)|any (?:ideas?|tips|suggestions?|advice|recommendations?|thoughts|chance|way|other|good)|wie|wo|
    warum|wann|welche\w*|wer|kannst|könntest|soll(?:te)? ich|gibt es|qué|cómo|dónde|cuál|cuándo|puedes|podrías)\b"""),
    # After a bare "and" fewer words ask: "and do my best" doesn't.
    "asked": _joined(r"""(?:what|how|where|why|which|can you|could you|would you|do you|should i|is there|
    are there|any (?:ideas?|tips|suggestions?|advice|recommendations?|thoughts))\b"""),
    "errand": _joined(r"""(?:¿|please\b|pls\b|help me|give me|suggest|recommend|show me|tell me|write\b|
    make (?:me|it|sure)|find me|leave out|need (?:an?|some|new|to|help)|want (?:an?|some|to|you)|looking for|
    i'm looking|i need|i want|i'd (?:like|love)|i was wondering|i'm wondering|let me know|let's|explain\b|plan\b|
    was kann|was soll|hast du)"""),
}


def pattern(table: str, parts: Mapping[str, str] = PARTS) -> re.Pattern[str]:
    """A pattern of several lines as one, with its parts put in."""
    whole = _joined(table)
    for name, part in parts.items():
        whole = whole.replace(f"<{name}>", _joined(part))
    return re.compile(whole)


ASKED = pattern(r"[?？]\W*$|[吗呢么]\W*$|^\W*¿")
QUESTION = pattern(r"^\W*(?:(?:and|but|so|ok|okay|hi|hey|hello|please|also|then|und|y)\b[\s,]*)*<asking>")
# What follows an assertion in one sentence and is for this turn only: a question or an errand.
TAIL = pattern(r"""(?:[,;–—]|\s-)\s*(?:(?:so|and|but|then|now|also)\s+)*(?:<asking>|<errand>)|
    \s(?:and|but|so)\s+(?:(?:so|then|now|also|would|i)\s+)*(?:<asked>|<errand>)""")
# An errand or a wish, at the beginning of a sentence.
REQUEST = pattern(r"""^\W*(?:(?:ok|okay|so|and|then|now|also|please|pls|thanks|great|cool|hi|hey|hello|can you|
    could you|would you|just|bitte|kannst du|por favor|puedes|next|first|again)\b[\s,:.!]*)*(?:write|fix|translate|
    explain|describe|show|give|list|compare|summari[sz]e|help|tell|find|recommend|suggest|create|make|generate|draft|
    add|remove|change(?! of\b)|rewrite|rephrase|turn|convert|continue|keep going|go on|plan|design|build|analy[sz]e|
    check|review|calculate|solve|prove|imagine|think|try|do|let me|let us|remind me|pick|choose|
    i(?:'d| would) (?:like|love|appreciate|need|want)|i(?:'m| am)(?: also)? (?:looking|trying|wondering|thinking|
    curious|interested|hoping|considering|not sure|unsure|asking|having trouble|struggling)|i need|i want|i wonder|
    we need|we want|i was wondering|i was thinking|schreib\w*|übersetz\w*|erklär\w*|zeig\w*|gib|hilf|mach|nenne? mir|
    ich hätte|ich möchte|ich brauche|ich suche|ich will|escrib\w*|escríb\w*|traduc\w*|explica\w*|dame|ayúda\w*|hazme|
    quiero|quisiera|me gustaría|necesito|busco)\b|^\W*(?:帮我|帮忙|请帮|请写|请解释|请翻译|给我|解释|写一?[个首篇]|翻译|
    介绍|列出|推荐|我想(?:知道|要|问|请|了解|让)|把这|告诉我)""")
# From here on nothing is meant as it is said.
PLAY = pattern(r"""^\W*<lead>(?:imagine|suppose|supposing|pretend|act as|act like|assume|assuming|hypothetically|
    let's (?:say|pretend|imagine|role-?play|assume|suppose)|say (?:i|we|my)\b|scenario|
    you are (?:now )?(?:an?|the|my|going to be)\b|you will (?:be|act)|i want you to (?:act|pretend|be|play|imagine)|
    in this (?:story|scenario|game|novel|role)|for this (?:exercise|example|task|scenario)|role-?play|the song|
    the lyrics|lyrics|what if|stell dir vor|angenommen|nehmen wir an|du bist (?:jetzt |nun )?ein|tu so|imagina|
    imagínate|supón|supongamos|actúa como|eres un|finge)\b|^\W*(?:假设|假如|想象|设想|你现在是|假装|扮演|你是一)""")
# From here on it is a text to work on.
ERRAND = pattern(r"""^\W*(?:(?:ok|so|now|please|pls|can you|could you|would you|hi|hey|hello|bitte|kannst du|
    por favor|puedes|help me|i want you to|i need you to|i'd like you to)\b[\s,]*)*(?:translat\w+|re-?write|rephrase|
    paraphrase|proof-?read|correct|edit|shorten|summari[sz]e|improve|polish|continue|complete|expand|reword|fix|turn|
    make|reformat|convert|format|analy[sz]e|review|check|grade|critique|respond to|reply to|answer|write|create|read|
    extract|classify|explain|given|based on|using|use|consider|übersetz\w*|korrigier\w*|formulier\w*|verbesser\w*|fass|
    schreib\w*|traduc\w*|corrige\w*|resume|reescribe|mejora)\b[^\n]{0,200}?(?::|：|\b(?:following|below|these|the text|
    this (?:text|email|e-mail|paragraph|article|sentence|message|letter|story|essay|passage|code|post|review|
    conversation|into|to|in|for|so|sound|more|better)|this\W*$)\b)|
    ^.{0,20}(?:翻译成|翻译一下|改写|润色|续写|总结以下|总结下面|修改以下)|
    ^.{0,60}\b(?:here(?:'s| is| are)|this is|below is|see below)\b.{0,60}[:：]\W*$""")
# A letter, and a line of a chat, that is quoted in full.
LETTER = pattern(r"""^\W*(?:(?:from|to|cc|subject|sent|date|betreff|von|an|asunto|para|re)\s*:|dear \w+|
    sehr geehrte|estimad[oa])""")
SPOKEN = pattern(r"^[^\W\d_][\w.'-]{0,20}(?: [^\W\d_][\w.'-]{0,20})?\s?[:：]\s+(?=\S+ \S)")
# What stands before a colon and is no speaker.
LABEL = pattern(r"""(?:note|update|decision|fyi|context|background|reminder|plan|preference|fact|rule|remember|final|
    heads|important|info|also|p\.?s|edit|change|quick|some|please|hinweis|wichtig|nota|importante)\b""")
# Code and logs.
MACHINE = pattern(r"""^\s*(?:\[?\d{4}-\d\d-\d\d[ t]\d\d:\d\d|\d\d:\d\d:\d\d|traceback|file \"|at [\w.$]+\(|
    (?:info|warn|warning|error|debug|fatal)\b[\s:\[]|\$ |>>> |#include|import \w|from \w+ import|def \w+\(|
    class \w+[(:{]|function \w*\(|const |let \w+ =|var \w+|public |private |select .+ from|insert into|update \w+ set|
    <\?|</?\w+[^>]*>\s*$|[{}\[\]();]+\s*$|[\w.]*(?:error|exception):)|[;{}]\s*$|=>|==|\(\)|\w\(\w*\)\s*$|\bself\.|</\w|
    ;\s*--|/\*""")
RIDDLE = pattern(r"""\bhow (?:many|much|old|long|far|fast)\b[^?]{0,80}\b(?:left|remain|altogether|in total|
    does (?:he|she)|do (?:they|i have)|will (?:he|she|they))\b|\b(?:chance|probability|odds) of\b""")
JOKE = pattern(r"""\b(?:lol|lmao|rofl|haha\w*|hehe|jk|j/k|just kidding|kidding|joking|jajaja\w*|nur spaß|scherz)\b|
    哈哈|开玩笑|😂|🤣|😜|🙃""")
# Before a cue: not asserted.
SUPPOSED = pattern(r"""\b(?:if|whether|should (?:we|i)|what if|wenn|falls|ob|imagine|suppose|pretend|assume|
    hypothetically|in case|as if|as though|wish|si (?:fuera|tuviera|viviera|yo|mi|me|no|el|la))\b|如果|要是|假如|假设|
    是否|要不要""")
# Anywhere in the sentence: open, or taken back.
UNSURE = pattern(r"""\b(?:maybe|perhaps|might|haven't|hasn't|not (?:yet|sure|been)|undecided|not decided|vielleicht|
    noch nicht|eventuell|wouldn't|hypothetically|i guess|i suppose|not certain|can't decide|could be|quizás?|tal vez|
    todavía no|aún no|a lo mejor|würde|wäre|hätte|könnte|no wait|forget it|would(?! rather)|thinking (?:of|about)|
    considering)\b|也许|可能|还没|尚未|不确定|再说吧""")
REPORTED = pattern(r"""\b(?:(?:he|she|they|somebody|someone|people|reddit|author|narrator|article|book|movie|
    friend) (?:says?|said|wrote|writes|claims?|claimed|thinks?|told)|according to|it says|
    the (?:narrator|author|character|protagonist))\b""")
PASSING = pattern(r"""\b(?:today|tonight|right now|at the moment|this (?:morning|afternoon|evening|minute|second|
    error|bug|weekend|week|(?:mon|tues|wednes|thurs|fri|satur|sun)day)|tomorrow|yesterday|just now|
    in (?:\w+|\d+) minutes|for now|heute|gerade|morgen|gestern|im moment|hoy|ahora mismo|mañana|ayer|
    esta (?:noche|mañana|tarde))\b|今天|今晚|明天|昨天|刚刚|刚才|现在很|有点|此刻""")

# --- what a sentence is by itself -------------------------------------------------------------------------------------

OWN = pattern(r"\b(?:i|i'm|i've|my|me|ich|mein\w*|mi|yo|soy)\b|我")
WE = pattern(r"\b(?:i|i'm|i've|my|we|we're|we've|our|us|ich|mein\w*|wir|unser\w*|mi|nuestr\w*)\b|我")
OURS = pattern(r"^\W*<lead>(?:we|we've|we're|our|my|wir|unsere?|meine?|nuestr[oa]|mi)\b|^\W*我")
TELLS = pattern(r"^\W*<lead><told>(?!to\b|this\b|the following|<asking>|always|never|i'm always)\S.{8,}")
# Speaks of what was named before; and says something of it that can be told from its first words.
LEANS = pattern(r"""^\W*<lead>(?:it|it's|its|he|he's|she|she's|they|they're|this|that|that's|these|those|his|her|
    their|both|there|the (?:old|new|other|former|latter|same) one|es|er|sie|das|dieser?|ella|él|ellos|eso|esto|este)\b|
    ^\W*(?:它|他|她|这|那|其)(?!就)""")
LEANING = pattern(r"""^\W*<lead>(?:it|he|she|they|both|his|her|their|its|es|er|sie|él|ella|它|他|她|
    the old one|the new one)(?: (?:also|now|only|still|always|currently) | |\b)(?:is|are|was|has|have|runs?|lives?|
    works?|starts?|ends?|costs?|uses?|takes?|wants?|belongs?|expires?|handles?|needs?|listens?|speaks?|teaches|läuft|
    ist|hat|wohnt|arbeitet|heißt|corre|funciona|es|tiene|vive|trabaja|在|是|有|跑|用)""")
OBJECT = pattern(r"\b(?:it|that|this|them|those|these|one|so)\W*$")
# What is exact: a number, a path, a quotation (a private character, see `extract`), how often; or a name.
SOLID = pattern(r"\d|\w[./]\w{2,}|[\ue000-\uf8ff]|@|\b(?:every|each (?!other)|weekly|monthly|yearly|annually|twice)\b")
NAMED = pattern(r"""(?<=[\w,;:(] )(?!I\b|I'|I’|OK\b|PM\b|AM\b|TV\b)[A-ZÄÖÜ][\w&.-]+|\b[A-Z]{2,}\d*\b|
    \b\w+[A-Z]\w*\b""")

# --- secrets ----------------------------------------------------------------------------------------------------------

# Said to be one, with a value behind it; or with the looks of one.
SECRET = re.compile(
    _joined(r"""\b(?:pass ?word|passwd|pwd|pass ?phrase|pass ?code|pin(?: code| number)?|
    (?:api|access|secret|private|license|encryption|master|ssh|openai|anthropic|aws|stripe)[ _-]?keys?|secret|
    (?:\w+[ _-])?token|cvv|cvc|security code|seed[ _-]?phrase|recovery (?:phrase|codes?)|credentials?|2fa codes?|
    one-time code|passwort|kennwort|geheimzahl|contraseña|clave)\b
    (?! (?:manager|policy|limit|lifetime|length|rotation|reset|budget|count|window|bucket|hash)\b)
    [^\n]{0,60}?(?:\bis\b|'s\b|\bare\b|[:=：→]|\bto\b|\bwas\b|\bist\b|\blautet\b|\bes\b)\s*
    (?!(?:valid|expired|required|optional|not|stored|kept|rotated|needed|broken)\b)\S{3,}|
    (?:密码|口令|密钥|令牌|验证码).{0,20}?[是为:：=]\s*\S{3,}|
    \b(?:card|account|kontonummer|karte|tarjeta)\b[^\n]{0,30}?(?:\d[ -]?){12,19}|卡号[^\n]{0,10}?(?:\d[ -]?){12,19}|
    -----BEGIN|\b(?:sk|pk|rk|ck|ghp|gho|ghu|ghs|ghr|glpat|hf|npm|xox[abprs]|shpat|dop_v1|pypi|sg)[-_.][\w.-]{12,}|
    \bgithub_pat_\w{20,}|\bAKIA[0-9A-Z]{12,}|\bAIza[\w-]{20,}|\beyJ[\w-]{8,}\.[\w-]{8,}|\bBearer\s+[\w.~+/-]{16,}|
    \b\w+://[^\s/:@]+:[^\s/@]+@|\b\d{3}-\d{2}-\d{4}\b|(?-i:\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}\b)|
    \b[0-9a-f]{32,}\b"""),
    re.IGNORECASE,
)
# A long run is a secret when it is mixed as no word is, and a long number when its check is right.
OPAQUE = re.compile(r"[A-Za-z0-9+_=-]{20,}")
CARD = re.compile(r"(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.])")
