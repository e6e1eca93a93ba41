"""What the curator listens for: cues with their weights, and the words of chatter, errands, doubt and noise.

Tables only, in English, Chinese and some German. What is done with them is in `curate`.
"""

import re
from bisect import bisect
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cue:
    code: str
    weight: float
    needle: str
    pattern: re.Pattern[str]
    person: bool


_WHEN = (
    r"(?:\d|mon|tue|wed|thu|fri|sat|sun|tomorrow|tonight|next|end of|noon|week|month|january|february|march|april|may|"
    r"june|july|august|september|october|november|december|morgen|montag|dienstag|mittwoch|donnerstag|freitag|samstag|"
    r"sonntag|ende)"
)
_PARTS = {
    "<when>": _WHEN,
    "<when_zh>": r"(?:周|星期|礼拜|月|号|日|点|天|今晚|明|后天|下午|上午|晚上|年底|国庆|春节|元旦)",
    "<we_are>": r"\b(?:i'm|we're|i am|we are)",
}


def _cues(table: str) -> tuple[Cue, ...]:
    """Lines of code, weight, needle and pattern, two spaces apart; a "!" before the code: only a person can say it."""
    found: list[Cue] = []
    for line in filter(None, map(str.strip, table.splitlines())):
        code, weight, needle, pattern = line.split("  ", 3)
        pattern = pattern.strip()  # a needle that ends in a space has one more behind it
        for name, part in _PARTS.items():
            pattern = pattern.replace(name, part)
        compiled = re.compile(pattern)
        found.append(Cue(code.lstrip("!"), float(weight), needle, compiled, person=code.startswith("!")))
    return tuple(found)


# Tried on the text in small letters.
CUES = _cues(r"""
!decision  .8  decided  \b(?:we|i|[iw]e?'ve|they|team|board|everyone|finally|has|have) (?:all |finally |just )?decided\b
decision  .8  was decided  \b(?:was|been) decided\b
decision  .75  decision  \bdecision:|\b(?:final|our|my|the) decision (?:is|was) |\bmade (?:the|a|our|my) decision to
decision  .7  go with  \b(?:let's|we'll|i'll|we|i|we're|i'm|will|going to) (?:just )?go with\b
decision  .7  going with  \b(?:we're|i'm|we are|i am) going with\b
!decision  .65  let's  \blet's (?:use|stick|keep|do|take|pick|choose|drop|skip|ship|move|switch)\b
decision  .75  chose  \bchose\b(?=.{0,80}\b(?:over|because|since|instead|as|for)\b)|\b(?:we|i) chose\b
decision  .75  chosen  \b(?:we've|i've|have|was|were) chosen\b
!decision  .7  picked  \b(?:we|i|i've|we've) picked (?!up\b)
decision  .75  settled  \bsettled (?:on|for)\b|\bthat's settled\b|\bsettled:
!decision  .7  agreed  \bagreed\b(?! with you)
!decision  .75  made up my mind  made up my mind
!decision  .7  the plan is  \bthe plan is\b
decision  .7  going forward  \bgoing forward,?\b
decision  .7  from now on  \bfrom now on\b
!decision  .65  please  \bplease (?:never|always)\b
!decision  .7  not going to  \b(?:i'm|we're|i am|we are) not going to\b
!decision  .65  instead  \b(?:i'll|we'll|i will|we will|we're|i'm) .{3,60}\binstead\b
!decision  .65  final  \bfinal(?: answer| decision| choice)?[.!]
!decision  .6  we'll  \bwe'll (?:do|take|use|keep|stay|switch|drop|wait|start)\b
decision  .6  rejected  \brejected:
decision  .65  approved  \bapproved (?:the|our|my|a)\b|\bgot approved\b
!decision  .65  ing  <we_are> (?:dropp|tak|switch|keep|mov|quitt|cancell?|leav|hir|buy|sell|stick|stay)ing\b
!decision  .65  ing  <we_are> (?:skipp|merg|postpon|replac|stopp|book)ing\b
!decision  .65  it is  ^\W*[\w ]{2,30} it is\b[.,!:;]|\.\s+[\w ]{2,30} it is\.
!decision  .65  then  ^\W*[\w ]{2,30}\bthen[,.:]
!decision  .65  scrap  \bscrap (?:the|that|this|it)\b
!decision  .65  no more  \bno more (?!than)\w+
!decision  .65  signed off  \bsigned off\b
!decision  .65  we need  \bwe (?:won't|will no longer|no longer) need\b
decision  .8  entschieden  \b(?:wir|ich|haben|habe|hat) .{0,20}entschieden\b
!decision  .65  wir nehmen  wir nehmen\b
!decision  .65  machen  wir machen (?:es|das) so
decision  .7  beschlossen  \bbeschlossen\b
decision  .65  dabei  bleib\w+ dabei
!decision  .8  决定  (?<!没)(?<!未)决定(?!吗|了吗|于|性|因素)
!decision  .7  那就  那就(?:选|用|这|按|走|定|做|先|下|不|周|改|买|去)
!decision  .7  就这么  就这么(?:定|办|做)
decision  .75  确定了  (?:最终|终于|已经?)?确定了|定下来
decision  .7  定在  定在
!decision  .7  同意  ^\W*同意|都同意|一致同意
!decision  .75  想好了  想好了
!decision  .7  选了  (?:我们?|最终|最后|下来).{0,6}选(?:了|择了)
decision  .75  不采用  采用.{1,30}不采用|而不是
!decision  .65  以后  以后(?:所有|都|一律|统一|不再)
!decision  .65  还是  还是(?:用|选|去|买|走|按|做|先).{1,20}吧
!decision  .65  通过了  (?:评审|审批|方案|董事会|投票).{0,8}通过了
decision  .65  拍板  拍板|敲定|批准了|批了
!decision  .65  砍掉  砍掉|不做了|不要了|放弃(?:了|掉)
!decision  .65  改成  (?:我们|统一|全部|都|直接).{0,8}改成
decision  .65  统一  (?:今后|从现在起|一律).{0,12}统一
conclusion  .65  turns out  \bturns out\b
conclusion  .6  turned out  \bturned out (?:that|to be|it)\b
conclusion  .6  reason  \b(?:so |that's |and )?the (?:real |main |actual )?reason(?: why)?\b.{0,60}\b(?:was|is)\b
conclusion  .65  root cause  \broot cause\b
conclusion  .6  in short  (?:^|[.\n]\W*|\bso )in short[,:]
conclusion  .55  to sum up  \bto sum up\b
conclusion  .55  in summary  \bin (?:summary|conclusion)\b
conclusion  .55  bottom line  \bbottom line\b
conclusion  .6  takeaway  \b(?:key|main|big|my) takeaway
conclusion  .65  lesson  \blessons? (?:learned|learnt|from)\b
conclusion  .55  caused by  \b(?:was|is|were) caused by\b
conclusion  .6  reali  \bi(?:'ve)? (?:just |finally )?reali[sz]ed\b
!conclusion  .6  found it  \bfound it\b|\bfigured (?:it )?out\b
!conclusion  .55  conclu  \b(?:we|i) concluded\b|\bmy conclusion\b
!conclusion  .6  it was  (?:^|[.\n])\W*it was (?:the|an?|because)\b
conclusion  .55  explains  \b(?:that|which|this) explains (?:why|how)\b
!conclusion  .6  looking back  \blooking back\b
!conclusion  .6  learn  \bwhat (?:i|we)(?:'ve)? learn(?:ed|t)\b|\bbiggest learning\b
conclusion  .55  to conclude  \bto conclude\b
!conclusion  .55  insight  \b(?:biggest|main|key|real) insight\b
conclusion  .6  lag an  \b(?:es|das) lag an\b
conclusion  .6  herausgestellt  herausgestellt
conclusion  .55  fazit  \bfazit\b
conclusion  .65  原来  原来(?!的)
conclusion  .6  总之  总之
conclusion  .6  原因是  原因(?:是|在于)
conclusion  .6  结论  结论
conclusion  .6  意识到  我.{0,4}意识到
conclusion  .65  教训  教训
!conclusion  .6  收获  收获是|最大的收获
!conclusion  .6  查清楚  查清楚|查明|查到了?原因|定位到
!conclusion  .6  的问题  (?:^|[，。])\W*(?:就|果然|原来)?是.{1,16}的问题
!conclusion  .6  回头看  回头看|回顾
conclusion  .55  总的来说  总的来说|综上
conclusion  .55  说白了  说白了|归根结底|关键在于
!commitment  .65  i'll  \bi'll\b.{3,80}\b(?:by|before|until|on|at|in|next|this) <when>
!commitment  .65  i will  \bi will\b.{3,80}\b(?:by|before|until|on|at|next|take care)\b
!commitment  .6  going to  \b(?:is|are|i'm|am) going to\b.{3,60}\b(?:by|before|until|next|on) ?<when>
!commitment  .65  promised  \b(?:i|we|i've) promised\b
commitment  .65  deadline  \bdeadline\b
commitment  .6  due  \b(?:is|are) due\b|\bdue (?:on|by|date)\b
!commitment  .6  expires  \bexpires?\b
!commitment  .65  appointment  \bappointment\b.{0,60}\d
!commitment  .6  reminder  \breminder\b|\bremind me\b
!commitment  .55  owe  \b(?:i|we) owe\b
!commitment  .55  don't forget  \bdon't forget\b|\bremember to\b
!commitment  .6  have to  \b(?:i|we) have to\b.{3,60}\b(?:by|before|until) <when>
!commitment  .6  need to  \b(?:i|we) (?:still )?need to\b.{3,60}\b(?:by|before|until)\b
!commitment  .6  you'll  \byou'll (?:have|get) (?:it|them|the)\b.{0,40}<when>
!commitment  .6  the   \b(?:on|by) the \d{1,2}(?:st|nd|rd|th)\b(?=.{0,20}\bat \d)
!commitment  .6  bis  \bich \w+.{0,60}\bbis (?:zum? )?<when>
commitment  .6  frist  \bfrist\b|\bfällig\b
commitment  .65  截止  截止
!commitment  .65  之前  <when_zh>.{0,6}(?:之?前).{0,20}(?:发|交|给|完|做|弄|提交|回复)
!commitment  .6  号  \d{1,2}\s?[号日].{0,6}(?:[一二三四五六七八九十\d]+\s?点|上午|下午|早上|晚上)
!commitment  .6  给你  <when_zh>.{0,8}(?:给你|发你|交给?)
!commitment  .65  答应  我?答应(?:了|过)
!commitment  .65  负责  (?:我|由我)(?:来)?负责
!commitment  .6  提醒  提醒一下|提醒我
!commitment  .6  约在  约在.{0,8}(?:\d|<when_zh>)|预约了
!commitment  .55  记得  记得(?:要|提前|把|在)
!fact  .6  allergic  \b(?:i'm|i am|is) allergic\b
!fact  .4  my   \bmy (?:\w+ ){1,3}(?:is|are) (?!(?:so|very|not|too|a bit)\b)\S+
!fact  .35  i   \bi(?:'ve)? (?:recently|just|actually|already|usually|currently|always|finally) \w+ .{10,}
!fact  .3  by the way  \bby the way, (?:i|my|we)\b
!fact  .3  my   \bmy (?:wife|husband|partner|mom|dad|mother|father|son|daughter|sister|brother|boss|dog|cat)\b
!fact  .55  wifi  \bwi-?fi\b.{0,40}:
!fact  .55  note to self  \bnote to self\b
!fact  .6  过敏  我.{0,20}过敏
!fact  .4  我的  我的.{1,8}(?:是|叫|为)
!fact  .6  want  \b(?:client|customer|boss|landlord|teacher)s? (?:wants?|insists?)\b
!fact  .55  require  \b(?:client|customer|contract)s? requires?\b
!fact  .55  @  [\w.+-]+@[\w-]+\.\w+
!fact  .55  size  \b(?:shoe|ring|shirt|dress) size\b.{0,8}\d
!fact  .55  birthday  \bbirthday (?:is|on)\b
!fact  .55  code  \bcode (?:is|changed|for)\b.{0,60}\d
!fact  .6  要求  (?:客户|甲方|老板|合同|学校).{0,4}要求
!fact  .55  电话  (?:电话|手机|邮箱|地址|账号|密码).{0,4}[\w:：]
!fact  .55  生日  生日(?:是|在)
!fact  .55  码  (?:鞋|尺|型|编|号)码.{0,4}\d
!idea  .6  thought:  \bthought:
!idea  .55  thinking about  \bbeen thinking about\b
!idea  .55  在想  (?:一直|最近|总)在想
!idea  .6  idea:  \bidea:
!idea  .6  had an idea  \b(?:had|have|got) an idea\b
!idea  .5  i think  \bi think (?:the|that|we|people|our|users)\b.{20,}
!idea  .5  what if we  \bwhat if we\b
!idea  .6  idee  \bidee:|\bich habe eine idee
!idea  .6  想法  (?:有个|一个|新)想法
!idea  .55  我觉得  我觉得.{12,}
""")
# Not asserted: supposed, undecided, or said of what may come.
SUPPOSED = re.compile(r"\b(?:if|unless|whether|should (?:we|i)|wenn|falls|ob)\b|如果|要是|假如|是否|要不要")
UNSURE = re.compile(
    r"\b(?:maybe|perhaps|might|haven't|hasn't|not (?:yet|sure|been)|undecided|not decided|vielleicht|noch nicht|"
    r"wouldn't|hypothetically)\b|也许|可能|还没|尚未|不确定|再说吧|再看"
)
QUOTED = re.compile(r'"[^"\n]{3,}"|“[^”\n]{3,}”|「[^」\n]{3,}」|„[^“\n]{3,}“')
JOKE = re.compile(r"\b(?:lol|lmao|haha\w*|hehe|jk|just kidding)\b|哈哈|开玩笑|😂|🤣|😜")
ASKED = re.compile(r"[?？]|[吗呢]\W*$|(?:什么意思|为什么|怎么办|多少|哪里错了)\W*$")
REQUEST = re.compile(
    r"\W*(?:(?:hi|hey|hello|ok|so|and|please|pls|can you|could you|quick|bitte|kannst du)\b[, ]*)*(?:how|what|what's|"
    r"whats|why|when|where|who|which|is there|are there|can i|do i|does|explain|describe|write|show|give me|list|"
    r"compare|summari[sz]e|help me|tell me|find|recommend|suggest|wie|was|warum|wann|welche\w*|wo|erklär\w*|schreib\w*|"
    r"zeig\w*)\b|\W*(?:请|帮我|给我|解释|介绍|写|怎么|如何|什么|为什么|列出|推荐)"
)
# Work on a text, play and probes: the reply is used at once and says nothing later.
ERRAND = re.compile(
    r"you are (?:now )?an? (?!bit|lot|great)|你现在是|假装你|扮演|^\W*(?:(?:please|can you|now|ok) )*(?:make (?:it|"
    r"this) (?:sound|more)|re-?write|rephrase|translate|proofread|shorten|fix (?:the|my) (?:typo|gram|spell)|"
    r"correct (?:the|my)|continue\b|go on\b|try again|again\b|test(?:ing)?\W*$|let's play|pretend|roleplay|"
    r"tell me a (?:joke|story)|shorter|longer)|\btell me a joke\b|^\W*(?:把这|改一下|润色|翻译|继续|再试|重写|测试|"
    r"短一点)|(?:写|改)得.{1,6}一?[点些]|翻译成|讲个(?:笑话|故事)|^\W*(?:übersetz|korrigier|formulier|weiter\W*$)"
)
# An answer that is none: it asks back, or says that it can't say.
DODGE = re.compile(
    r"\b(?:i don't (?:know|have (?:access|feelings|information|real))|i(?:'m| am) (?:sorry|unable)|i can(?:'t|"
    r"not) (?:see|access|browse|help|provide)|as an ai|my knowledge|could you (?:please )?(?:share|provide|tell|"
    r"clarify|give)|please (?:share|provide)|depends (?:on|what)|what (?:do you need|would you like|matters)|"
    r"i apologi[sz]e|how can i help|happy to help|i(?:'d| would) need (?:more|to know)|weiß ich (?:leider )?nicht|"
    r"keinen zugriff|worum geht|wie kann ich)\b|抱歉|无法(?:获取|访问|回答|提供)|请(?:把|提供|告诉我|问)|取决于|要看你|"
    r"作为(?:一个)?(?:人工智能|ai)|我不知道|有什么可以帮"
)
SMALL_TALK = re.compile(
    r"\bhow (?:are|was|is) (?:you|your|it going|life)\b|\bwhat's up\b|\bhow's it going\b|\bcan you help me(?: with "
    r"something)?\W*$|\bwie geht|过得怎么样|最近怎么样|吃了吗|帮我个忙|在吗"
)
CHATTER = re.compile(
    r"\W*(?:(?:hi|hello|hey|yo|thanks?|thank you|thx|ty|ok|okay|k|cool|nice|great|perfect|awesome|lol|haha\w*|yes|"
    r"yeah|yep|no|nope|sure|got it|sounds good|will do|good (?:morning|night|evening)|bye|see you|welcome|"
    r"you're welcome|wow|hallo|danke|super|gerne?|genau|stimmt|tschüss|so much|very much|there|that's (?:perfect|"
    r"great|it)|makes sense|a lot|you|again|for now|all good|alles klar|gute wahl|noted|understood|"
    r"kein problem)\b\W*){1,6}|\W*(?:(?:你好|您好|谢谢|多谢|好的?|嗯+|哦+|哈+|笑死|行|可以|收到|明白|知道了|不客气|"
    r"没问题|太好了|早上好|晚安|拜拜|明天见|辛苦了|呀|啊|吧|了)\W*){1,6}"
)
LINKED = re.compile(
    r"\W*(?:so|and|but|then|that|it|this|yes|yeah|no|agreed|ok|also|because|exactly|right|same|in that case|und|"
    r"aber|also|dann|ja|genau)\b|\W*(?:那|所以|同意|好|对|但|而且|果然|是的|可以|就|嗯)"
)
# What a memory or a program put into a message: not said by whoever sent it.
_OPENING = re.compile(
    r"<(memory|memories|context|recalled|retrieved\w*|system[\w-]*|tool[\w-]*|记忆|上下文)\b[^<>]*>", re.IGNORECASE
)
_CLOSING = re.compile(r"</(\w[\w-]*)>")
RECALLED = re.compile(
    r"\b(?:from what i remember|as i recall|(?:from|in) our (?:earlier|previous|last) (?:chats?|conversations?)|"
    r"you (?:mentioned|told me) (?:earlier|before|last)|last time we (?:spoke|talked)|relevant memor)|"
    r"根据(?:之前|以往)?的?记忆|相关记忆|上次(?:我们)?聊|你之前(?:说|提到)过|据我所?记"
)
NOISE = re.compile(
    r"\s*(?:[{\[]\s*[\"{\[]|traceback \(most|\[?\d{4}-\d\d-\d\d[t ]\d\d:\d\d:\d\d|=+ .* =+\s*$|(?:found|read|"
    r"reading|searching|running|executing|tool (?:call|result|output))\b.*(?:\.\.\.|…)\s*$|<(?:tool|function|"
    r"system)[_a-z]*>)"
)
NUMBER = re.compile(
    r"[$€£¥]\s?\d[\d.,]*|\d{4}-\d\d-\d\d|\d[\d.,:/–-]{0,20}\s?(?:%|€|\$|ms\b|gb\b|mb\b|kg\b|km\b|eur\b|usd\b|euros?\b|"
    r"dollars?\b|hours?\b|(?:st|nd|rd|th)\b|days?\b|weeks?\b|months?\b|people\b|am\b|pm\b|元|万|块|月|号|日|点|天|"
    r"分|人|年|小时|毫秒)|\b\d{1,3}(?:[.,]\d{3})+\b|\b\d+\.\d+\b|\+\d[\d ]{7,16}|\b\d{1,2}:\d\d\b|"
    r"[一二三四五六七八九十]+(?:点|号|月)"
)
# A choice that is put to somebody, and not an offer of service.
CHOICE = re.compile(r"\bor\b[^?\n]*\?|\bwhich (?:of|one|do)\b|\boder\b[^?\n]*\?|还是|哪[一个款种]")
OFFER = re.compile(r"\b(?:would you like me|shall i|should i|do you want me|soll ich)\b|需要我|要我")
WAVERS = re.compile(
    r"\b(?:idk|not sure|no idea|don't know|let's see|see which|check out|consider|both|depends|whatever)\b|不知道|"
    r"看情况|随便|都行|再想想|不确定"
)
# What anybody could ask again and get as much of; and that an answer was the right one.
OPEN = re.compile(
    r"\b(?:tips|ideas|advice|suggestions?|suggest|recommendations?|recommend|tell me more|know more|brainstorm|tipps|"
    r"ideen|vorschläge)\b|推荐|建议|点子|介绍一下"
)
WORKED = re.compile(
    r"\b(?:that was it|that (?:worked|fixed|did|solved)|it works|works now|fixed it|solved|funktioniert|"
    r"hat geklappt)\b|果然|解决了|搞定|可以了|好使"
)


def without_blocks(text: str, instead: str = "\n") -> str:
    """A text without what a memory or a program put into it between tags, in time that grows with its length."""
    closings: dict[str, list[tuple[int, int]]] = {}
    for tag in _CLOSING.finditer(text):
        closings.setdefault(tag[1].lower(), []).append(tag.span())
    kept: list[str] = []
    place = 0
    for tag in _OPENING.finditer(text) if closings else ():
        ends = closings.get(tag[1].lower(), [])
        first = bisect(ends, (tag.end(), 0))
        if tag.start() >= place and first < len(ends):
            kept += [text[place : tag.start()], instead]
            place = ends[first][1]
    return "".join([*kept, text[place:]])
