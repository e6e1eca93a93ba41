"""Where the line goes between a text alone that says something and one that only asks or greets."""

import pytest

from keepstone.engine.extract.alone import left_over

# Notes as people hand them over: without a subject, without a verb, as a wish, in any language; and with what looks
# like a question or a greeting in them.
SAYS = """
Completed marathon|Vegetarian|Name: Alice|Loves coffee|Anna lives in Berlin|她住在柏林|Vegetarisch|コーヒーが好き
Buy milk|Call Anna on Sunday|Use dark mode|Explain things simply|Write tests first|Write a test for every change
Is allergic to nuts|Has two kids|Did it twice in 2019|Was in Rome|Will is my brother|Doesn't eat pork|Have kids
Don't call me before nine|Do my taxes in March|Can't eat gluten|Which museum I like: the Louvre|Any seat is fine
What I love most is coffee|What is important to me is family|How to reset: hold the button|I want to learn piano
Married today|I'm great at chess|Great at chess|No nuts|Ok with dogs|42|Hello Kitty fan|Take care of mom|- likes tea
Yes to cookies, no to tracking|haha I love pizza|Hi! Completed marathon! Any tips?|Thinking of moving to Lisbon
Maybe vegan soon|Birthday: 1990-05-03|Thanks to Anna I found a job|Nice to travel to: Japan|Never again pork
"""
SAYS_NOTHING = """
Hi|Hello there!|Good morning|Hi, how are you?|ok|ok great thanks|Great, thanks!|Thank you!|Thanks a lot|bye|yes|lol
see you tomorrow|I'm fine|nice to meet you|sounds good|you're welcome|Hallo|Danke dir|Merci beaucoup|你好|谢谢|👍|...
What is the weather like?|what is my name|where is the station|how do i reset my password|Do you know me|any tips
can you help me with this thing|Is there a pharmacy here|hello, what can you do for me?|你吃了吗|Hi! How are you? Ok?
Write a poem about the sea|Tell me about Rome|Please translate this: vous êtes ici
"""


def texts(block: str) -> list[str]:
    return block.strip().replace("\n", "|").split("|")


@pytest.mark.parametrize("text", texts(SAYS))
def test_a_note_says_something(text: str) -> None:
    assert left_over(text, [])


@pytest.mark.parametrize("text", ["", *texts(SAYS_NOTHING)])
def test_a_question_or_a_greeting_alone_says_nothing(text: str) -> None:
    assert not left_over(text, [])


def test_what_was_not_read_out_of_a_text_is_left_word_for_word() -> None:
    text = "Hi! Name: Alice. Loves coffee. Any tips? Ran 10 km\n- Lives at 5, Main St.\n- *Vegan*, thanks!"
    assert left_over(text, ["Loves coffee"]) == [
        "Name: Alice.", "Ran 10 km\n- Lives at 5, Main St.\n- *Vegan*, thanks!",
    ]  # fmt: skip
    assert left_over(text, [text]) == []
    code = "Deploys run like this:\n```\nmake deploy\n```"
    assert left_over(code, []) == [code]
    long = "Ate well, and slept. " * 30
    assert (left_over(long, []), left_over(long, ["Ate well, and slept."])) == ([long.strip()], [])
