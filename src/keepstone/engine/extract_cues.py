"""What extraction listens for: the cues of preferences, facts, instructions and decisions.

Tables only, in English, and the main patterns in Chinese, German and Spanish; what is done with them is in `extract`.
"""

import re
from dataclasses import dataclass

from keepstone.engine.extract_refused import PARTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """A pattern that is tried where one of the needles is in the text, which is quickly known.

    One that is `anchored` is tried where a clause begins, another anywhere; a `weak` one says too little by itself, and
    counts beside a number or a name.
    """

    category: str
    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    anchored: bool
    weak: bool


def _lines(table: str) -> list[str]:
    """An indented line goes on; a "#" is for the reader."""
    kept = "\n".join(line for line in table.strip().split("\n") if not line.startswith("#"))
    return re.sub(r"\n +", "", kept).split("\n")


def _words(table: str) -> dict[str, str]:
    return dict(line.split(" = ", 1) for line in _lines(table))


_WORDS = _words(r"""
# Where a clause begins.
at = (?:^\W*<lead><told>?|[,;:(—–，；：]\s*|\s-\s|\b(?:and|but|because|since|so|und|aber|weil|y|pero|porque)\s+)
adv = (?:(?:really|absolutely|also|still|now|just|always|totally|actually|currently|mostly|truly|recently|finally|do|
    definitely|already|usually|personally|especially|simply|genuinely|both|much|strongly|generally|typically|normally|
    mainly|tend to|happen to|only|very much|quite|particularly|kind of) )*
be = (?:i'm|im|i am|we're|we are)
have = (?:i've|i have|we've|we have)
kin = (?:wife|husband|partner|fianc[eé]e?|girlfriend|boyfriend|spouse|mother|mom|mum|father|dad|parents|boss|manager|
    landlord|landlady|therapist|doctor|dentist|sister|brother|son|daughter|kids?|child|children|cousin|aunt|uncle|niece|
    nephew|grand(?:ma|pa|mother|father|son|daughter)|colleague|co-?worker|roommate|flatmate|housemate|neighbou?r|
    teacher|coach|mentor|twins?|toddler|baby|dog|cat|puppy|kitten|horse|rabbit|parrot|best friend|in-laws|lawyer|
    accountant|team ?lead|cto|ceo|supervisor|advisor)
diet = (?:vegetarian|vegan|pescatarian|teetotal|gluten[- ]free|keto|lactose[- ]intolerant|kosher|halal)
verb = (?:answer|reply|respond|use|write|give|include|show|keep|start|end|ask|check|run|push|open|commit|suggest|
    recommend|call|address|add|put|format|explain|cite|tell|assume|convert|provide|send|speak|talk|translate|make|avoid|
    say|quote|begin|mention|test|double-check|prefix|sign|round|list|link|output|skip|leave|stop|be|refer|treat|
    summari[sz]e|do|don't|do not|stick|limit|never|always|only|please|no|drop|spell|name|write out|return|merge|deploy)
later = (?:from now on|from here on(?: out| in)?|going forward|moving forward|in (?:the )?future|henceforth|by default|
    for (?:all|any|every) future \w+|from today(?: on)?|as a rule|in all (?:your|future) \w+)
style = (?:emojis?|emoticons|exclamation (?:marks?|points?)|bullet points?|bullets|markdown|tables?|em[- ]dash(?:es)?|
    jargon|disclaimers?|apologi\w+|slang|headings?|headers?|hedg\w+|flattery|filler|capitals|all caps|abbreviations|
    acronyms|small talk|passive voice|sir|madam|ma'am|bro|buddy|dude|honey|my (?:full )?name)
when = (?:\d|(?:mon|tues|wednes|thurs|fri|satur|sun)day|next|january|february|march|april|may|june|july|august|
    september|october|november|december|spring|summer|autumn|fall|winter|the (?:end|weekend)|q[1-4])
here = (?:it|its|it's|this|that|that's|these|those|the|your|you|yours|how|where|what|when|who|why|him|her|them|to see|
    to know|to be|to get|to have|to hear|both|all of|everything|one|which|being|getting|seeing|hearing|my code|
    my answer)\b
thing = (?!(?:question|point|guess|bad|pleasure|problem|issue|error|bug|code|function|method|script|query|queries|
    tests?|loop|array|class|output|input|understanding|thoughts?|idea|mistake|apologies|head|stomach|back|answer|
    conversation|first|second|last|next|mind|opinion|eyes|concern|only|bet|god|plan here|goal here|variable|model|
    assignment|homework|essay|draft|text|paragraph|sentence|example|prompt|request|chat|discussion|dear|own|love|hope|
    heart|turn|fault|word|impression|favou?rite|take|sense|reason|result|results|data|dataset|list|table|
    program)\b)(?:[\w'’&./-]+ ){0,4}?[\w'’&./-]+?(?:'s)?
project = (?:deadline|launch|release|wedding|meeting|standup|exam|appointment|contract|lease|warranty|budget|client|
    customer|server|database|db|repo|repository|office|api|domain|warehouse|project|team|flight|party|conference|
    interview|retreat|kick-?off|demo|go-live|sprint|invoice|rent|school|course|key|event|trip|tour|move|closing|review|
    gateway|cluster|cache|queue|pipeline|backend|frontend|website|site|app|service|endpoint|bucket|branch|ticket|
    version|due date|start date|end date|address|landlord|tenant|supplier|vendor|venue|hotel|semester|term|ceremony|
    funeral|surgery|operation|audit|migration|cutover|freeze|offsite|workshop|webinar|presentation|talk|defen[sc]e|
    thesis)
holds = \s(?:is|are|was|has|have|runs?|lives?|starts?|begins?|ends?|expires?|takes?|costs?|uses?|needs?|sells?|makes?|
    ships?|leaves?|closes?|opens?|moves?|moved|sits?|listens?|belongs?|works?|consists?|meets?|covers?|supports?|
    depends?|stores?|handles?|approves?|owns?|weighs?|turns?|got|will|says?|said|told me|wants?|insists?|requires?|
    expects?|loves?|likes?|hates?|plays?|studies|goes|lost|passed)
""")


def _filled(pattern: str) -> str:
    for name, part in (*_WORDS.items(), *PARTS.items()):
        pattern = pattern.replace(f"<{name}>", part)
    return pattern


def _cues(table: str) -> tuple[Cue, ...]:
    """Lines of category, needles and pattern, two spaces apart; "?" before a category: weak; "^": anchored.

    A "_" in a needle is a space.
    """
    found: list[Cue] = []
    for line in _lines(table):
        category, needles, pattern = line.split("  ", 2)
        found.append(
            Cue(
                category=category.lstrip("?^"),
                needles=tuple(needles.replace("_", " ").split("|")),
                pattern=re.compile(_filled(pattern)),
                anchored="^" in category,
                weak="?" in category,
            )
        )
    return tuple(found)


CLAUSE = re.compile(_filled("<at>"))

# The first that is found names the category.
_CUES = _cues(r"""
# --- instructions
^instruction  always  (?<!\band )(?<!\bbut )(?:please |pls |you (?:should|must) |i(?:'d like| want|
    'd want| need| would like) you to |remember to |make sure (?:to |you )|to )?always (?!be |do )<verb>\b
^instruction  always  (?:please )?<verb>\b(?: to me)? (?:\w+ )?always\b
^instruction  never  (?<!\band )(?<!\bbut )(?:please |you (?:should|must) |i(?:'d like| want) you to |to )?never (?!be |
    do |say never|give up|stop (?:believ|learn|dream))<verb>\b
^instruction  from_|ing_forward|future|default|henceforth|rule  <later>,? .{0,40}?\b<verb>\b(?! (?:takes|goes|is|was))
instruction  from_|forward|future|default|henceforth|rule  (?:^|\b(?:you can|please|i want you to|you may|could you|
    can you) )<verb>\b.*\b<later>
^instruction  when  (?:whenever|when|every time|each time|any ?time) (?:i|you) (?:ask|paste|send|say|write|give|share|
    type|post|want|need|use|show|answer|reply|respond|quote|mention|generate|produce)\b.{0,80}?,? (?:please |always |
    just |you )*<verb>\b
^instruction  time  (?:every time|each time|any ?time) (?:i|you) \w+.{0,80}?,? (?:please |always |just |you )*<verb>\b
^instruction  otherwise  unless (?:i say|i tell you|told|i ask|stated|specified) otherwise
^instruction  call_me  (?:please |you can |just )?call me (?!when|back|if|later|an? |at |on |tomorrow|crazy|maybe|again|
    once|after|before|in )[\w'-]+(?: [\w'-]+)?\W*$
^instruction  _me_  (?:please )?(?:address me|refer to me|speak to me|talk to me|treat me)\b
^instruction  pronouns  (?:please )?use my pronouns
^instruction  n't  (?:please )?(?:don't|dont) (?:ever )?(?:use|add|call me|say|include|start|end|put|write|
    give me)\b(?!.*\b(?:here|this|in the|that|for now)\b).*\b<style>\b
^instruction  n't  (?:please )?(?:don't|dont) ever (?:use|add|call|say|include|suggest|recommend|ask|tell|give|send|
    write)\b
^instruction  not  (?:please )?do not (?:ever )?(?:use|add|call me|say|include|start|end|put)\b(?!.*\b(?:here|this|
    in the|that|for now)\b).*\b<style>\b
^instruction  stop  (?:please )?(?:stop|quit) (?:using|adding|calling me|saying|apologi[sz]ing|starting|ending|asking|
    repeating|being so)\b(?!.*\b(?:here|this)\b)
^instruction  no_  (?:please,? )?no (?:more )?<style>\b(?! (?:in|for|here) )
^instruction  avoid  (?:please )?avoid (?:using )?<style>\b(?!.*\b(?:here|this|in the)\b)
^instruction  keep  (?:please )?keep (?:your|all|the) (?:answers?|replies|responses?|tone|messages|
    explanations)\b(?!.*\bthis\b)
instruction  answers  <at>(?:please )?keep answers\b|\byour (?:answers|replies|responses) (?:should|must) (?!have been)
^instruction  i_go_by  i go by \w+
instruction  _in_  ^\W*(?:please )?(?:answer|reply|respond|speak|talk)(?: to me)?(?: only)? in (?:english|german|french|
    spanish|chinese|italian|dutch|portuguese|japanese|british|american|plain)\b
instruction  以后  (?:^|[，,。])\W*(?:以后|今后|从今以后)(?:请|都|不要|别|用|回答|一律|统一|你|的)
instruction  从现在  从现在(?:起|开始)(?!.*故事)
instruction  请  ^\W*请?(?:始终|总是|一直|永远|每次都)(?:用|不要|给|回答|使用|别)
instruction  叫我  ^\W*(?:请|以后|你可以)?(?:叫我|称呼我为?)(?!起|去|来)[^，。？]{1,8}\W*$
instruction  每次  ^\W*每次(?:我|你).{1,30}(?:都|请|要)
instruction  表情  (?:不要|别|请勿)再?(?:用|使用|加).{0,4}表情
^instruction  immer  (?:bitte )?(?:antworte|schreib|verwende|nutze?|benutze|sprich|gib|zeig|nenn)\w*\b.{0,40}\b(?:immer|
    stets|nur noch)\b
^instruction  immer  (?:bitte )?(?:immer|stets) .{0,40}\b(?:antworten|schreiben|verwenden|nutzen|benutzen)\b
^instruction  ab_  ab (?:jetzt|sofort|heute|nun)\b(?!.*\bich\b)
^instruction  künftig  (?:bitte )?(?:\w+ )?(?:künftig|in zukunft|zukünftig)\b(?!.*\bich\b)
^instruction  nenn  (?:bitte )?nenn mich\b
^instruction  mich  (?:bitte )?(?:duze|sieze|duz|siez) mich\b
instruction  kein  <at>bitte keine? (?:emojis?|smileys?|tabellen|floskeln|anglizismen)\b|(?:verwende|benutze|
    nutze) (?:bitte )?keine? (?:emojis?|smileys?|tabellen|anglizismen)\b
instruction  ahora  \b(?:a partir de ahora|de ahora en adelante|desde ahora)\b(?!.*historia)
instruction  siempre  <at>(?:por favor,? )?(?:responde|contesta|usa|escribe|dame|habla)(?:me)?\b.{0,30}\bsiempre\b|
    <at>siempre (?:responde|contesta|usa|escribe|dame|habla)
^instruction  no_  (?:por favor,? )?no (?:me llames|uses|pongas|añadas)\b.*\b(?:emojis?|emoticonos|tablas|señor|señora|
    usted|tú)\b
^instruction  nunca  nunca (?:uses|digas|pongas|me llames|sugieras|recomiendes|escribas)\b
^instruction  mame  (?:puedes |por favor,? )?ll[aá]mame (?!cuando|luego|mañana|si |a )\w+
# --- decisions
decision  decided  \b(?:we|i|they|team|board|everyone|[iw]e?'ve|have|has|just|finally|and) (?:all |finally |just |also |
    now )?decided (?:to |on |against |that |not |for )(?!(?:ask|try|check|write to|chat|talk to|consult|give it|you|
    be)\b)
decision  decision  \bdecision:|\b(?:final|our|my|the) decision (?:is|was) (?!yours|hard|difficult|up )|\bmade (?:the|a|
    our|my) decision to
decision  my_mind  \bmade up my mind\b
decision  settled  \b(?:we|i|[iw]e?'ve|finally) (?:have |finally )?settled (?:on|for)\b
decision  agreed  \b(?:we|team|board|everyone|all|they|we've|and i|client) (?:have |all |also |finally |
    just )?agreed (?:to|on|that)\b
decision  opted  \b(?:we|i|[iw]e?'ve) (?:have )?opted (?:for|to)\b
decision  _go|going|gone  \b(?:let's|we'll|we will|<be>|we've|decided to) (?:just |finally |now )?(?:go|going|
    gone) with (?!that\b|this\b|it\b|your\b|those\b|the (?:first|second|third|last|other)\b|the flow|my gut)
decision  chose  \b(?:we|i|[iw]e?'ve) (?:finally |just )?(?:chosen?) .{1,60}\b(?:over|instead|because|since|for (?:the|
    our|my))\b
decision  picked  \b(?:we|i|[iw]e?'ve) (?:finally |just )?(?:picked|selected) (?!up\b).{1,60}\b(?:over|instead|because|
    since|for (?:the|our|my))\b
^?decision  let's  let's (?:ship|launch|move|postpone|drop|cancel|switch|stick with|keep|meet|release|push|delay|book|
    fly|deploy|host|hold)\b.*\b(?:instead|on|to|until|by|for|in|next|from)\b
^decision  let's  let's (?:ship|launch|move|postpone|release|deploy|meet|fly|hold)\b.*\b(?:<when>.*instead|
    instead.*<when>)
^decision  ing_  (?:we're|we are|we will be|we'll be) (?:switching|moving|migrating|dropping|cancell?ing|postponing|
    replacing|sunsetting|discontinuing|standardi[sz]ing|outsourcing|delaying|phasing out|
    consolidating)\b(?!.*\b(?:tonight|today|right now)\b)
^?decision  ing_  (?:i'm|i am) (?:switching|dropping|cancell?ing|postponing|replacing|quitting|selling)\b.*\b(?:to|from|
    for|until|next|in|my|and)\b
^decision  ed_  (?:we|[iw]e?'ve|we have|they|they've|team|board|management) (?:just |finally |now |also )?(?:postponed|
    cancell?ed|delayed|rescheduled|scrapped|approved|rejected|switched|migrated|discontinued|pushed back|
    standardi[sz]ed)\b(?! my (?:order|flight)\b)
^decision  _we  we(?:'ll| will| won't)(?: not| no longer| only)? (?:use|keep(?! \w+ing)|raise|hire|ship|launch|adopt|
    switch|drop|stay|stick|move|support|build|sell|buy|rent|focus|go ahead|postpone|wait|charge|start|not)\b(?! (?:it|
    this|that|in touch|you|up|going)\b)
^decision  not_going_to  (?:i'm|we're|i am|we are) not going to (?!lie|pretend|argue|ask|do that|say|be able|tell you|
    waste|bother you|read)\w+ .{6,}
decision  plan  \bchange of plans?\b.{3,}
^decision  final  final (?:decision|answer|choice|call|version of the plan)\b\W+.{6,}
^decision  scrap  scrap (?:the|our)\b.{3,}
decision  signed_up  \b(?:i|we|[iw]e?'ve) (?:finally |just |already )?(?:signed up for|enrolled in|
    registered for) (?!this|it|that|you)
^decision  no_longer  we no longer (?:use|support|offer|sell|hire|accept|need)\b
^decision  _we  we(?:'ve| have)? (?:just |finally |now )?(?:moved|pushed|brought) (?:the|our) .{2,60}\b(?:to|from|back|
    forward|until)\b
decision  决定  (?<!没)(?<!未)(?<!能)(?:决定)(?!吗|了吗|于|性|因素|不了).{2,}
decision  那就  那就(?:选|用|按|定|改|买|去|先|下|周).{2,}
decision  就这么  就这么(?:定|办)
decision  选  我们?(?:最终|最后|还是)?选(?:了|择了).{2,}
decision  改到  (?:^|[，。])\W*(?:我们|会议|发布|时间|上线|就).{0,8}改(?:到|成|在).{2,}
decision  同意  (?:大家|我们|团队|董事会).{0,4}同意.{3,}
decision  entschieden  \b(?:wir|ich|habe[n]?|hat|team) .{0,60}\bentschieden\b
decision  beschlossen  \b(?:haben|habe|hat|wurde) .{0,60}\bbeschlossen\b|\bbeschlossen,
decision  geeinigt  \b(?:haben|habe) uns .{0,60}\bgeeinigt\b
^decision  wir_  wir (?:nehmen|bleiben bei|wechseln (?:zu|auf|von)|verzichten auf|stellen .{2,30} um|verschieben|
    streichen) .{3,}
decision  decid  \b(?:hemos|he|han|ha) decidido\b (?!nada).{3,}|<at>(?:al final )?(?:decidimos|decidí) .{3,}
decision  quedamos  \bnos quedamos con\b.{2,}
decision  optamos  \b(?:optamos por|elegimos|hemos elegido|he elegido|hemos optado por)\b.{2,}
# --- preferences
preference  prefer  \b(?:i|we) (?!'d)<adv>prefer\b(?! (?:not to|<here>))
preference  rather  \b(?:i|we)(?:'d| would) (?:much rather (?!not\b|you\b|<here>)\w+|rather (?!not\b|you\b|
    <here>)\w+ .{2,}\bthan\b)
preference  _i_|_we_  \b(?:i|we) (?:<adv>(?:don't|do not|dont|never|can't|cannot) <adv>)(?:like|enjoy|love|eat|drink|
    smoke|stand|bear|care for|do well with|touch)\b(?! (?:<here>))(?! \w*$| an? (?:lot|bit)).{2,}
^preference  _i_|_we_  (?:i|we) <adv>(?:like|love|enjoy|adore|hate|dislike|detest|loathe|despise)\b(?! (?:<here>|to\W*$|
    you\b|number|option|an? (?:good|lot)|to (?:think|say|ask|add|make|create|use this)))(?! \w+ (?:answer|version|idea|
    error|one|response)\b).{2,}
preference  into  <be> (?:<adv>)(?:not )?(?:really |super |very |big )?(?:into|fond of|obsessed with|keen on|
    passionate about|crazy about|addicted to) (?!<here>)
preference  person  <be> (?:<adv>)(?:more of )?an? (?:<adv>)[\w-]+(?: [\w-]+)? person\b
preference  more_of_a  <be> <adv>more of an?\b
preference  fan_of  <be> <adv>(?:not )?(?:an? )?(?:(?:big|huge|massive|great|real) )?fan of (?!<here>)
preference  veg|pescatarian|teetotal|gluten|keto|lactose|kosher|halal  (?:<be>|
    <have> been) (?:<adv>)(?:not )?(?:an? )?(?:(?:strict|lifelong|mostly|mainly|ethical|longtime|practising) )?<diet>\b
preference  my_  \bmy (?:all[ -]time )?(?:favou?rite|go-to|preferred|usual) (?:[\w-]+ ){1,4}(?:is|are) (?!<here>)
^preference  _i_|_we_  (?:i|we) (?:always|usually|normally|typically|generally|mostly|mainly|only|never|rarely|tend to|
    prefer to|almost always) (?:drink|eat|book|buy|work|write|read|use|wear|fly|travel|take|sleep|cook|listen|watch|
    order|start|do|keep|go|sit|shop|pay|run|train|stay|get up|wake up|avoid|code|commute)\b(?! (?:<here>|into|
    to (?:this|the)\b)).{3,}
preference  out  \b(?:stress(?:es)?|freaks?|creeps?|grosses?) me out\b
^preference  dark_mode  dark mode (?:everywhere|always)
preference  喜欢  (?:^|[，,。])\W*(?:我们?|本人)(?:个人|一直|平时|比较|更|最|很|特别|非常|不太|不|也|真的|就|都|
    是)*(?:喜欢|偏好|偏爱|讨厌|爱吃|爱喝|受不了)(?!这|那|你|它|上面|刚才|第).{1,}
preference  我  (?:^|[，,。])\W*我们?(?:平时|一直|从来|都|也|从)*(?:讨厌|爱吃|爱喝|爱看|习惯用|习惯了?|受不了)(?!这|那|
    你|它).{1,}
preference  我  (?:^|[，,。])\W*我们?(?:平时|一直|从来|都|也|从)*不(?:吃|喝|抽|爱吃|爱喝|碰).{1,}
preference  素  (?:^|[，,。])\W*我(?:们)?(?:一直|现在|全家|都)*(?:吃素|是(?:一个|个|一名)?(?:纯)?素食)
preference  最  我(?:们)?最(?:喜欢|爱)的.{1,12}是(?!你|这)
^preference  ich_  ich (?:(?:\w+ )??)?(?:mag|liebe|hasse|bevorzuge|verabscheue)\b(?! (?:das|es|diese|dieser|dieses|
    diesen|deine|deinen|wie|dich|die antwort|den|dein|sie|ihn)\b).{2,}
^preference  lieber  ich \w+ (?:\w+ )?lieber\b
^preference  ich_  ich (?:esse|trinke|rauche|benutze|nutze|schaue) (?:\w+ )?(?:keine?n?|nie|nur|gerne?|am liebsten|
    nicht)\b
^preference  vegeta  ich bin (?:\w+ )?(?:vegetarier|vegetarierin)\b
^preference  vegan  ich (?:bin|lebe|esse|ernähre mich) (?:\w+ )?vegan
preference  liebling  \bmeine? lieblings\w+ (?:ist|sind|heißt)\b
preference  prefiero  \b(?:yo )?(?:prefiero|preferimos) (?!no responder|no contestar|esta|este|ese|esa|eso|esto|
    la primera|la segunda|el primero|el segundo|que\b)
^preference  gusta|encanta|molesta  (?:a mí )?(?:no )?(?:me|nos) (?:gusta|gustan|encanta|encantan|molesta|
    molestan)(?: (?:mucho|más|bastante))? (?!esta|este|esto|eso|esa|ese|tu |tus |cómo|como lo|la respuesta|lo que|
    mucho esta)
^preference  odi  (?:odio|odiamos|detesto|adoro|no soporto) (?!esta|este|esto|eso|esa|ese)
^preference  soy  (?:soy|somos) (?:vegetarian|vegan|celíac)[oa]s?\b
^preference  no_  (?:yo )?no (?:como|bebo|fumo|tomo|comemos|bebemos) (?!en\b|si\b|que\b|lo\b).{2,}
preference  favorit  \bmis? (?:[\w]+ )?(?:[\w]+ )?favorit[oa]s? (?:es|son)\b
# --- facts
^fact  allerg  (?:<be>|i have|my \w+ (?:is|are|has)|<kin> is|i've been|i got) .{0,20}\ballerg(?:ic|y|ies)\b
^fact  i'm_|i_am_  (?:i'm|i am) [\w'-]+(?: [\w'-]+)?, an? (?!(?:bit|little|lot|huge|big|pretty)\b)\w+
^fact  name  (?:my|our) (?:[\w-]+ )?name(?:'s| is)
^fact  my_  my (?:[\w-]+ ){0,2}?(?:<kin>)\b(?:,? \w+)?(?:,? and (?:i|me|my \w+))?,?(?:<holds>|'s| are)\b(?! (?:right|
    wrong|just said|asking|hi\b|pineapple|so |very |too |really |super |thrilled|excited|happy|proud|great|ok\b|okay|
    doing (?:well|great|fine)|love (?:it|this|that|trying)|been (?:so|super|really|great|very)|appreciate|mad|angry|
    late|annoy|not here|driving|being|at it|like |thinks?|that )).{2,}
^fact  my_  my (?:email|e-mail|address|phone|phone number|number|birthday|anniversary|job|title|role|company|employer|
    hometown|major|degree|blood type|height|weight|shoe size|ring size|native language|mother tongue|first language|
    github|handle|username|time ?zone|pronouns|thesis|dissertation|startup|business|website|blog|channel|doctor|
    diagnosis|condition|commute|timezone|salary|budget|nationality|religion|star sign|plan is to|goal is to|dream is to|
    car|bike|flight|visa|lease|landlord|apartment|house|team|main client|client|school|university|
    major)\b(?:[\w' -]{0,30}?)(?:<holds>)\b(?! (?:slow|broken|down|delayed|late|not working|acting|making|too|so|very|
    really|dirty|full|dead|giving|being|good|great|fine|ok|okay|bad|right|wrong)\b).{2,}
^?fact  my_  my <thing>(?:<holds>)\b(?! (?:slow|broken|down|delayed|late|not working|acting|too|so|very|really|still|
    okay|fine|dirty|full|dead|giving|being|throwing|returning|failing|that |to \w+ (?:it|this))).{2,}
^fact  our_  our (?:(?:main|biggest|new|target|core) )?(?:customers?|clients?|users|audience|product|company|startup|
    team|stack|policy|landlord|kids?|children|dog|cat|garden|fiscal year|backend|frontend|database|repo|competitors?|
    supplier|office|shop|school)\b[\w' -]{0,30}?<holds>\b(?! (?:slow|broken|down|delayed|late|too|so|very|really|
    failing|getting|that|not|great|good|happy|fine)\b).{4,}
^?fact  our_  our <thing>(?:<holds>)\b(?! (?:slow|broken|down|delayed|late|too|so|very|really|failing|getting|that ))
^?fact  the_  the (?:[\w'’&.-]+ ){0,3}?<project>(?:'s \w+)?(?: (?:with|for|of|to|in|
    at) (?:[\w'’&.-]+ ?){1,4}?)?(?:<holds>| has moved| was moved| has been| is moved| got)\b(?! (?:slow|broken|down|
    failing|too|so|very))
^?fact  _we  we (?:<adv>)?(?:use|run|have (?:\d+|two|three|four|five|six|an? \w+ (?:in|for|with|team|office))|sell|ship|
    host|deploy|store|rent|own|employ|support|operate|bill|invoice|meet|publish|release|live|just put up|just set up|
    just launched|just opened|just hired|launched|opened|hired|founded|started|serve|process|work)\b(?! (?:this|that|it|
    to talk|a problem|an issue|out of|into|a winner|no idea))
^fact  _we  we (?:<adv>)?(?:use|run|host|deploy|store)\b.{2,}\b(?:for all|for everything|everywhere|in production|
    at work|internally|for our)\b
^fact  _we  we (?:don't|do not|never|always|only) (?:deploy|release|ship|hire|negotiate|accept|offer|sell|store|log|
    merge|work|meet|invoice|bill|publish|support|use)\b(?! (?:<here>)).{3,}
^fact  _we  we (?:<adv>)?live (?:in|at|near|with|on|by|close)\b(?! (?:a world|times|an age|an era|society))
^fact  _i'm|_im_|_i_am|_we  <be> <adv>(?:\d{1,2}(?: years old)?\b(?=\s*(?:and|,|\.|$|years|now))|from (?!<here>)\w|
    originally from|based (?:in|out of)|living (?:in|with|near)|located in|married|divorced|widowed|pregnant|
    left-handed|right-handed|colou?r-?blind|deaf\b|blind\b|diabetic|dyslexic|autistic|bilingual|retired|unemployed|
    self-employed|c(?:o)?eliac|asthmatic|expecting (?:a|our|my|twins)|engaged\b|getting married|getting divorced|
    neurodivergent|epileptic|widowed|an? only child|in (?:my|the) (?:first|second|third|final|last|early|mid|
    late)[\w -]*(?:year|semester|twenties|thirties|forties|fifties|sixties|\d0s))
^fact  _i'm|_im_|_i_am|_we  <be> <adv>(?:training for|studying (?!for (?:this|a test|my test))|learning(?! (?:about|how|
    that|more))|majoring in|moving to|relocating to|writing (?:a|my) (?:book|novel|thesis|dissertation|memoir)|
    working (?:as|at|for) |employed|interning|volunteering|teaching|recovering from|taking \d|saving (?:up )?for|
    renovating)\b.{2,}
^fact  _i'm|_im_|_i_am|_we  <be> <adv>an? (?!(?:bit|little|lot|pretty|mess|mix|genius|potato|idiot|fool|big|huge|few|
    couple|total|complete|real|bad|good|great|terrible|horrible|lucky|happy|sad|tad|step|sucker|firm believer|huge|
    massive|bit of|robot|human|person|man of|wreck|fan|failure|loser|victim|sinner|ai|
    assistant)\b)(?:[\w&'/-]+ ){0,5}?[\w-]+
^fact  _i_  i <adv>(?:work|worked) (?:as|at|for|in|from|remotely|nights|full[- ]time|part[- ]time|\d|shifts)\b
^fact  _i_  i <adv>live (?:in|at|near|with|alone|on|by|close|abroad)\b(?! (?:my (?:pajamas|pyjamas|head|car right)|fear|
    hope|denial|a world|the moment|times)).{2,}
^fact  _i_  i <adv>(?:grew up|was born|was raised|graduated|majored|teach|coach|commute|volunteer|emigrated|immigrated|
    retired|own|speak|weigh|wear (?:size|glasses|contacts|hearing)|manage an?|lead an?|co-?founded|founded|freelance|
    moonlight|run an? (?:small|own|local|family|shop|bakery|company|business|blog|store|caf|restaurant|studio|agency|
    startup|podcast|channel|newsletter|non-?profit|farm))\b(?! (?:this|that|it|out|up (?:thinking|with))\b).{2,}
^fact  _i_  i (?:study|studied|major in|minor in|took up|practi[sc]e) (?!for (?:this|a|my)|hard|it|this|that)\w+ .{3,}
^fact  to_work  i <adv>(?:take|ride|walk|cycle|bike|drive) .{0,40}\bto work\b
^fact  and_i  my (?:[\w-]+ ){0,2}?<kin> and i (?!(?:were|was|had|went|want|need|are (?:looking|trying|going|thinking|
    planning)))\w+ .{6,}
^fact  _i_  i (?:take|use|inject) \d+ ?(?:mg|mcg|ml|units|iu)\b
^fact  _i've|_i_have|_we've|_we_have  <have> (?:<adv>)(?:been )?(?:worked (?:as|at|for|in)|lived|learning(?! (?:about|
    how|more|that))|studying|living|working (?:as|at|for|in|with) |teaching|playing (?:the|piano|guitar|violin|drums|
    tennis|football|soccer|chess|basketball)|running (?:an?|my|our)|married|divorced|sober|diagnosed|together|
    freelanc\w+|practi[sc]ing|coaching|collecting|volunteering|taught|had (?:type|asthma|migraines|diabetes|
    a [\w-]+ (?:surgery|transplant)))\b.{3,}
^fact  _i_|_i've  i(?:'ve got| have| also have| have got) (?:(?:an?|two|three|four|five|six|one|\d+|no|some|twin|about|
    over|nearly|almost|my own) )?(?:[\w-]+ ){0,3}?(?:kids?|children|sons?|daughters?|dogs?|cats?|siblings|sisters?|
    brothers?|phd|master's|masters|bachelor's|mba|degree|diabetes|asthma|adhd|autism|epilepsy|migraines|arthritis|
    anxiety|depression|insomnia|allergy|allergies|intolerance|celiac|ibs|pcos|eczema|dyslexia|knee|hip|
    years of experience|green card|citizenship|pension|mortgage|horses?|chickens|twins|grandchildren|grandkids|
    pacemaker|scoliosis|high blood pressure|tinnitus|newborn|toddler|stepchildren|stepson|stepdaughter)\b(?! (?:in a|
    on a|of|that i))
^fact  _i_|_i've  i (?:<adv>)?(?:was|got|have been|'ve been) (?:<adv>)(?:diagnosed|promoted|laid off|fired|hired|
    accepted (?:to|into|at|by)|admitted|divorced|engaged|married|adopted|elected|transferred|licensed|certified)\b
^fact  _i_  i <adv>(?:quit|left|lost|resigned from|started|accepted|landed) (?:my|a new|a|the|our) (?:\w+ )?(?:job|
    position|role|company|career|business|degree|phd|master's|apprenticeship|internship|school|course)\b
^?fact  _i_  i <adv>(?:moved (?:to|in|from|back)|relocated|adopted|enrolled|joined|inherited|rent|lease|drive|ride|
    play (?:the|piano|guitar|bass|drums|cello|violin|tennis|football|soccer|chess|basketball|in|for)\b|broke my|tore|
    had (?:\w+ )?surgery|switched (?:to|from|jobs)|subscribed) .{3,}
^?fact  _i_  i (?:<adv>)?use (?!<here>|a (?:for|while|loop|regex)|an? )\w+.{3,}
?fact  by_the_way  \bby the way,? (?:i|my|we|our)\b(?!(?:'ve|'m|'re)? (?:(?:also|just|really|recently|actually|
    still) )*(?:been )?(?:meaning|wonder|curious|think|looking|trying|hoping|interested|want|need|not sure|sure|glad|
    happy|proud|still|reali[sz]ed|noticed|a bit|thrilled|excited|saw|heard|forgot|appreciate|remember|like|love|loving|
    into)|'d| would| was wondering| had the).{15,}
fact  is_my|are_my  \b(?:is|are) my (?:[\w-]+ )?<kin>\b
?fact  is_our|are_our|is_my|are_my  \b(?:is|are) (?:our|my) (?!only (?:hope|option)|best (?:bet|option)|goal)\w+
^?fact  is_the  (?:our|my) .{2,40} is the \w+
?fact  our|my_|_us  \b(?:took over|joined|leads|heads|is in charge of|is responsible for|replaced|left|runs) (?:our|my|
    us)\b
fact  我  (?:^|[，,。])\W*我(?:的名字)?叫(?!你|车|外卖|了)\w{1,8}
fact  我  (?:^|[，,。])\W*我们?(?:家)?(?:现在|目前|一直|全家)?(?:住在|来自|毕业于|出生[于在]|老家[是在]?|定居)\w
fact  我  (?:^|[，,。])\W*我(?:现在|目前)?(?:是|当)(?:一名|一个|一位|个|做)\w{2,}(?!吗)
fact  我  (?:^|[，,。])\W*我(?:现在|目前|一直)?在.{2,20}(?:工作|上班|当\w|教书|教\w|读(?:书|研|博|大)|做\w{2,})
fact  过敏  我.{0,12}(?:对.{1,14})?过敏(?!吗)
fact  我  (?:^|[，,。])\W*我们?家?的?(?:大|小|二)?(?:女儿|儿子|孩子|老婆|妻子|丈夫|老公|男朋友|女朋友|妈妈|爸爸|母亲|
    父亲|姐姐|妹妹|哥哥|弟弟|奶奶|爷爷|老板|领导|房东|同事|导师|猫|狗|室友)(?:\w{0,4})(?:是|叫|在|今年|有|住|\d|对|
    的生日|喜欢|刚|下|明年|上)(?!不是).{1,}
fact  我  (?:^|[，,。])\W*我们?的?(?:公司|团队|项目|服务器|数据库|产品|网站|店|学校|系统|部门|办公室|仓库|生日|邮箱|
    电话|手机号|地址|专业|工作|职业|血型|身高|预算|论文|航班|车|房子|客户|办公地点)\w{0,8}?(?:是|在|有|用|跑|叫|为|运行|
    部署|成立|位于|从)(?!不是|什么|哪|问题|点|些).{2,}
fact  我  (?:^|[，,。])\W*我们?(?:有|养了?)(?:一|两|三|四|\d)(?:个|只|条|名)\w{0,6}(?:孩子|女儿|儿子|猫|狗|员工|姐姐|
    妹妹|哥哥|弟弟)
fact  我  (?:^|[，,。])\W*我(?:今年)?\d{1,2}岁
fact  截止  (?:截止|交付|上线|发布|考试|婚礼|会议)(?:日期|时间|日)?(?:是|为|在|定在|改到).{0,6}[\d一二三四五六七八九十]
^fact  ich_  ich (?:arbeite|wohne|lebe|studiere|unterrichte|heiße|heisse|spreche|komme aus|lerne|leite|besitze|stamme|
    pendle|fahre einen?)\b(?! (?:gerade|heute|es|das|dich|nicht mehr weiter|daran)\b).{2,}
^fact  ich_  ich bin (?:\d{1,2}\b|allerg|verheiratet|geschieden|schwanger|diabetiker|linkshänder|rechtshänder|
    farbenblind|rentner|selbstständig|selbständig|freiberufl|von beruf|eine? (?!bisschen|wenig)\w+|\w+(?:erin|lehrer|
    ärztin|arzt|ingenieur|entwickler|student|studentin|pfleger|berater|anwalt|anwältin)\b)
^fact  ich_  ich habe (?:eine?n?|zwei|drei|vier|\d) (?:\w+ )?(?:kind|kinder|tochter|töchter|sohn|söhne|hund|hunde|katze|
    katzen|allergie|schwester|bruder|geschwister|diabetes|asthma)\b
^fact  mein  meine? (?:\w+ )?(?:tochter|sohn|mann|frau|freund|freundin|partner|partnerin|mutter|vater|eltern|schwester|
    bruder|kinder|oma|opa|chef|chefin|vermieter|vermieterin|hund|katze|arzt|ärztin|kollege|kollegin|name|geburtstag|
    adresse|e-mail|telefonnummer|firma|beruf|thema|doktorarbeit|masterarbeit|auto|flug|budget)\b.{0,30}?\b(?:ist|sind|
    heißt|heisst|hat|kommt|wohnt|arbeitet|lebt|beginnt|fängt|wird|geht|lautet|mag|studiert|handelt|fliegt)\b(?! (?:müde|
    krank|sauer|genervt|kaputt|langsam))
^fact  unser  unsere?[sr]? .{2,40}?\b(?:ist|sind|heißt|läuft|laufen|liegt|hat|haben|nutzt|verwendet|beginnt|endet|steht|
    kostet|besteht)\b(?! (?:kaputt|langsam|zu|sehr|gerade|down)).{2,}
fact  frist  \b(?:abgabe|kündigungs|liefer|bewerbungs|melde)?frist\b.{0,30}\b(?:ist|endet|läuft)\b.*\d
^?fact  die_|der_|das_  (?:die|der|das) (?:hochzeit|prüfung|besprechung|deadline|umzug|vertrag|termin|abgabe|release|
    server|konferenz|projekt)\b.{0,40}\b(?:ist|endet|beginnt|findet|läuft|wurde)\b.*\d
^fact  wir_  wir (?:wohnen|leben|haben (?:zwei|drei|\d+)|nutzen|verwenden|arbeiten mit|hosten|betreiben|
    verkaufen)\b(?! (?:das|dies|es)\b).{3,}
^fact  trabaj  (?:yo )?(?:trabajo|trabajamos) (?:como|en|para|de|desde)\b.{2,}
^fact  viv  (?:yo )?(?:vivo|vivimos) (?:en|con|desde|cerca|sol[oa])\b.{2,}
^fact  soy  (?:yo )?(?:soy|somos) (?:de |alérgic|un |una |médic|enfermer|ingenier|profesor|maestr|abogad|estudiante|
    diabétic|celíac|zurd|autónom|programador|desarrollador|diseñador|madre|padre|jubilad)(?!poco|bocazas)
^fact  tengo  (?:tengo|tenemos) (?:un |una |dos|tres|cuatro|\d+) ?(?:\w+ )?(?:hij[oa]s?|perr[oa]s?|gat[oa]s?|años|
    herman[oa]s?|alergia|empleados|diabetes|asma|niet[oa]s)\b
^fact  me_llamo  me llamo \w+
^fact  mi_  mi (?:hij[oa]|espos[oa]|marido|mujer|madre|padre|herman[oa]|jef[ea]|perr[oa]|gat[oa]|novi[oa]|pareja|
    abuel[oa]|cumpleaños|correo|teléfono|dirección|empresa|nombre|tesis|coche|vuelo|presupuesto|casero|
    compañer[oa])\b.{0,40}?\b(?:es|está en|son|se llama|empieza|tiene|vive|trabaja|cumple|nació|estudia|vende|sale|
    trata)\b.{2,}
^fact  nuestr  nuestr[oa]s? .{2,40}?\b(?:es|está|están|son|corre|funciona|usa|utiliza|tiene|se llama|empieza|termina|
    cuesta)\b.{2,}
fact  límite|entrega|plazo|boda|examen|reunión|contrato  \b(?:fecha límite|fecha de entrega|el plazo|la boda|el examen|
    la reunión|el contrato)\b.{0,30}\b(?:es|será|termina|acaba|vence)\b.*\d
^fact  nac  (?:nací|crecí|me mudé|estudio|estudié|me gradué|hablo) (?:en|a|de|con|derecho|medicina|\w+).{3,}
""")
INSTRUCTIONS = tuple(cue for cue in _CUES if cue.category == "instruction")
STATEMENTS = tuple(cue for cue in _CUES if cue.category != "instruction")
