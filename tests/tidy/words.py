"""Rules for the language: plain technical English in everything that a user reads, and a comment at the
head of each file. CONTRIBUTING.md says what plain means here.

The texts are the literals of src/ (logs, errors, events, metrics, help, completions), the pages and the man
pages. A text of Kubernetes that Berth repeats word for word is listed in stock_texts.txt and left as it is.
"""

import re

from ratchet import Counts, Names
from rules import LITERAL, line_of, sources, without_comments

PAGES = re.compile(
    r"^(README|CONTRIBUTING|CHANGELOG|SECURITY)\.md$|^(docs|deploy|examples)/.*\.(md|[1-8]\.in|yaml)$"
)

# TEXT # WHY: texts of Kubernetes that have a banned word in them.
STOCK_TEXTS = "tests/tidy/stock_texts.txt"

# Nouns that are counted per something.
RATED = (
    "binds|bytes|calls|changes|claims|events|files|lines|objects|operations|pairs|pods|requests|rows|runs|"
    "steps|syncs|them|volumes|writes"
)
# Nouns that have one of something each.
COUNTED = (
    "capability|claim|class|controller|driver|file|folder|kind|line|node|object|pod|process|request|row|rule|"
    "scenario|step|test|thread|tool|verb|volume"
)
# Words between "one" and "a" that are no noun.
NO_NOUN = (
    "and|as|at|by|for|from|gets|had|has|in|is|makes|names|needs|of|on|or|per|takes|than|that|to|uses|was|"
    "with|without"
)

# (pattern, what to write instead). Whole words, matched in lower case; a blank stands for any white space.
BANNED = [
    # Words that are not the usual ones.
    (r"anew", "again; recreate"),
    (r"alone", "only"),
    (r"seldom", "rarely; with increasing delay"),
    (r"mend(?:s|ed|ing)?", "fix"),
    (r"by itself", "automatically"),
    (r"wish(?:es)?", "request"),
    (r"kept for(?! (?:an?|one|\S*\d\S*) (?:second|minute|hour|day|week))", "reserved for"),
    (r"offered (?:again|anew)", "made available again"),
    (r"(?:make|makes|made) (?:one )?to measure", "created with the requested size"),
    (r"can be had", "is available"),
    (r"put together", "created; started"),
    (r"commas between", "comma-separated"),
    (r"head of the table", "column headers"),
    (r"unless said", "default: VALUE"),
    (r"is no (?:failure|error|mistake)", "is not an error"),
    (r"never c[ao]mes? true", "timed out waiting for"),
    (r"ends? with \d", "exits with status N"),
    (r"how far", "progress; state"),
    (r"(?:let|lets|letting) go", "release; detach"),
    (r"(?:give|gives|gave|given|giving) (?:\w+ )?back", "release; return"),
    (r"(?:give|gives|gave|given|giving) up on", "stop retrying"),
    (r"(?:take|takes|taken|took|taking)(?: (?:it|them|that|this|(?:the|its|his|an?) \w+))? away",
     "unmount; remove; delete"),
    (r"(?:go|goes|gone|going|went) away", "is deleted; disappears"),
    (r"(?:is|are|was|were|be|been) looked at", "is checked; is inspected"),
    (r"(?:is|are|was|were|be) tried (?:again|anew)", "Berth retries"),
    (r"(?:is|are) there(?! (?:an?|any|no|enough|more|something|room)\b)", "exists; is ready; is running"),
    (r"(?:is|are|was|were) not there", "does not exist; is missing"),
    (r"not there yet", "not ready yet; does not exist yet"),
    (r"(?:stand|stands|standing|stood) still", "is suspended; makes no progress"),
    (r"(?:come|comes|came|coming) to rest", "settles"),
    (r"in front of (?=an? (?:\w+ )?(?:cluster|server)|any\b|the server|the cluster|other)", "against"),
    # Who tells whom.
    (r"told", "reported; recorded; notified"),
    (r"tells", "reports; shows; notifies"),
    (r"(?:cannot|does not|did not) tell", "cannot determine"),
    (r"telling", "reporting; notifying"),
    (r"(?:nobody|anybody|somebody|everybody|whoever)(?:'s)?", "the user, program or component that acts"),
    (r"people(?:'s)?", "users; administrators"),
    (r"for who(?! (?:is|are)\b)", "for users who"),
    # Images, and things that are given a will.
    (r"bad days?", "injected faults; fault-injection run"),
    (r"(?:the|a|an|whole|another) story", "what happened; state"),
    (r"house rules", "project rules"),
    (r"houses?", "program; source tree"),
    (r"rooms|a room", "directory; component; namespace"),
    (r"promis(?:e|es|ed|ing)", "assume; reserve; guarantee"),
    (r"jilt\w*", "bound elsewhere"),
    (r"doom\w*", "being deleted"),
    (r"hopeless\w*|a hope", "exceeds the limit; cannot succeed"),
    (r"judge[sd]?|judging", "filter; evaluate"),
    (r"verdicts?", "result"),
    (r"(?:is|as) a doctor", "inspects"),
    (r"lied", "lost a write"),
    (r"in peace", "cleanly"),
    (r"second chance", "cannot be undone"),
    (r"(?:a|no) word (?:on|of|about|why)", "an explanation"),
    (r"deeds?", "change"),
    (r"onlookers?", "observer"),
    (r"twins?", "duplicate"),
    # One X per Y.
    (rf"(?:{RATED}|\d[\d,.]*) an? (?:second|minute|hour|turn)", "per second"),
    (rf"one (?!(?:{NO_NOUN})\b)[\w-]+ an? (?:{COUNTED})", "one X per Y"),
]

# Good English with a word from the table in it.
FINE = re.compile(r"\b(?:(?:leave|leaves|leaving|left)(?: [\w-]+){1,3} alone|if you wish)\b")

ANY_BANNED = re.compile(
    r"\b(?:" + "|".join(f"({pattern})" for pattern, _ in BANNED).replace(" ", r"\s+") + r")\b"
)
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[^\n]*", re.M)
ESCAPE = re.compile(r"\\[abfnrtv\"'\\?]")


def hide(match):
    return re.sub(r"[^\n]", "\0", match.group(0))


def literals_only(text):
    """The same text with everything hidden but string literals. Literals with only white space between
    them are one text."""
    kept, end = [], 0
    bare = INCLUDE.sub(hide, without_comments(text))
    for match in re.finditer(LITERAL, bare):
        between = bare[end : match.start()]
        kept.append(between if between.isspace() else re.sub(r"[^\n]", "\0", between))
        literal = match.group(0)
        kept.append(" " + ESCAPE.sub("  ", literal[1:-1]) + " " if literal[0] == '"' else "\0" * len(literal))
        end = match.end()
    return "".join(kept)


def texts_for_users(tree):
    """(path, text) of what users read; what is not for them is hidden, lines stay where they are."""
    for path, text in sources(tree, ("src/",)):
        yield path, literals_only(text)
    for path in sorted(tree):
        if PAGES.match(path):
            yield path, tree[path]


def stock_texts(tree):
    lines = [line.split("#")[0].strip() for line in tree.get(STOCK_TEXTS, "").splitlines()]
    return [line for line in lines if line]


def find_banned_words(tree):
    found, stock = {}, stock_texts(tree)
    for path, text in texts_for_users(tree):
        for exempt in stock:
            text = text.replace(exempt, "\0" * len(exempt))
        for match in ANY_BANNED.finditer(FINE.sub(hide, text.lower())):
            words, instead = " ".join(match.group(0).split()), BANNED[match.lastindex - 1][1]
            message = f"'{words}': write '{instead}', or say it another way"
            found.setdefault(path, []).append((line_of(text, match.start()), message))
    return found


OPENING = re.compile(r"\s*(?:/\*(.*?)\*/|((?://[^\n]*\n)+))", re.S)
SENTENCE_WORDS_MIN = 4


def has_sentence(comment):
    """At least one run of words with a capital at its head and a period at its end."""
    text = " ".join(re.sub(r"^\s*(?:\*|//)", "", line).strip() for line in comment.splitlines())
    return any(
        re.match(r"[^a-z]", sentence) and len(sentence.split()) >= SENTENCE_WORDS_MIN
        for sentence in re.findall(r"[^.\s][^.]*(?:\.(?=\S)[^.]*)*(?=\.(?:\s|$))", text)
    )


def find_no_opening_comment(tree):
    found = {}
    for path, text in sources(tree, ("src/",)):
        if path.endswith(".c"):
            match = OPENING.match(text)
            if not match or not has_sentence(match.group(1) or match.group(2)):
                found[path, ""] = 1, "open the file with a comment: its purpose in at least one full sentence"
    return found


BANNED_WORDS = Counts("tests/tidy/banned_words.txt", find_banned_words)
NO_OPENING_COMMENT = Names("tests/tidy/no_opening_comment.txt", find_no_opening_comment, has_names=False)
RATCHETS = [BANNED_WORDS, NO_OPENING_COMMENT]


def rule_banned_words(tree):
    """texts for users are plain technical English"""
    return BANNED_WORDS.check(tree)


def rule_opening_comments(tree):
    """a .c file opens with its purpose"""
    return NO_OPENING_COMMENT.check(tree)


RULES = [value for name, value in list(globals().items()) if name.startswith("rule_")]
