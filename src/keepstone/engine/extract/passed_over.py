"""What extraction passes over, and what a sentence is by itself: the tables of `passed_over.toml`.

They are tried on one sentence or line in small letters, but for SPOKEN and NAMED, which look for capitals.
"""

from keepstone.engine.language import tables

_TABLES = tables.load("passed_over")

# Questions and wishes.
ASKING = _TABLES.pattern("question")
TAIL = _TABLES.pattern("tail")
REQUEST = _TABLES.pattern("request")
# The same where nothing else can be meant.
OUTRIGHT = _TABLES.pattern("outright")
WANTED_ONCE = _TABLES.pattern("wanted_once")
# Play, and texts that are handed in: what follows is not said by the user.
PLAY = _TABLES.pattern("play")
ERRAND = _TABLES.pattern("errand")
LETTER = _TABLES.pattern("letter")
SPOKEN = _TABLES.pattern("spoken")
LABEL = _TABLES.pattern("label")
MACHINE = _TABLES.pattern("machine")
RIDDLE = _TABLES.pattern("riddle")
# Said by others, or soon over.
REPORTED = _TABLES.pattern("reported")
PASSING = _TABLES.pattern("passing")

# Of whom it is.
OWN = _TABLES.pattern("own")
WE = _TABLES.pattern("we")
OURS = _TABLES.pattern("ours")
TELLS = _TABLES.pattern("tells")
# Speaks of what was named before; says something of it that can be told from its first words; ends with it.
LEANS = _TABLES.pattern("leans")
LEANING = _TABLES.pattern("leaning")
OBJECT = _TABLES.pattern("object")
# What is exact, and what has a name.
SOLID = _TABLES.pattern("solid")
NAMED = _TABLES.pattern("named")
# What a summary may begin without.
OPENING = _TABLES.pattern("opening")
# A negation makes another thing of what is said in the same words.
NEGATIONS = _TABLES.words("negation")
