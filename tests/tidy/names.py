"""Rules for names: functions, tags, variables and files. CONTRIBUTING.md says what a good name is."""

import collections
import re

from ratchet import Counts, Names
from rules import LEVELS, code_only, functions_with_heads, line_of, sources

# Names of files that say nothing about what is in them.
VAGUE_FILES = set("call deed found inputs means operate populate reconcile walk world worlds write".split())

# Opaque types of which a simulated machine has a body of its own, behind the same interface.
TWO_BODIES = {"dirwatch", "mount_watch", "process"}

# A tag of three forms of type: `struct x`. With a brace behind it, it is defined there.
TAG = re.compile(r"\b(struct|enum|union)\s+([A-Za-z_]\w*)(\s*\{)?")

# `struct node *x`, as a variable, parameter or field. The formatter writes a product as `a * x`.
POINTER_X = re.compile(
    r"\b(?!return\b|sizeof\b|case\b|else\b)\w+ \*+(?:const |restrict )?x(?=[,;)\[]| =)"
    r"|^ *(?:(?:static|const|struct|enum|union|unsigned) )*\w+ \*.*, \*+x(?=[,;]| =)",
    re.M,
)


def c_functions(tree):
    """(path, line, name, is it static) of each function in a .c file of src/."""
    for path, text in sources(tree, ("src/",)):
        if path.endswith(".c"):
            for line, name, _length, head in functions_with_heads(text):
                yield path, line, name, re.search(r"\bstatic\b", head) is not None


def find_one_word_functions(tree):
    found = {}
    for path, line, name, _ in c_functions(tree):
        if "_" not in name and (path, name) != ("src/main.c", "main"):
            found[path, name] = line, f"{name}(): name it module_verb_object, static or not"
    return found


def find_repeated_functions(tree):
    everything, found = list(c_functions(tree)), {}
    shared = {name: path for path, _, name, is_static in everything if not is_static}
    for path, line, name, is_static in everything:
        if is_static and name in shared:
            found[path, name] = (
                line,
                f"static {name}() repeats the name of a function of {shared[name]}: rename the static one",
            )
    return found


def find_repeated_tags(tree):
    """Tags that a header mentions and that more than one file defines."""
    in_headers, defined = set(), collections.defaultdict(list)
    for path, text in sources(tree, ("src/",)):
        bare = code_only(text)
        for match in TAG.finditer(bare):
            if path.endswith(".h"):
                in_headers.add(match.group(2))
            if match.group(3):
                defined[match.group(2)].append((path, line_of(bare, match.start()), match.group(1)))
    found = {}
    for tag, places in defined.items():
        if tag in in_headers - TWO_BODIES and len({path for path, _, _ in places}) > 1:
            for path, line, kind in places:
                others = ", ".join(sorted({other for other, _, _ in places} - {path}))
                found[path, tag] = line, f"{kind} {tag} is defined in {others} too: give one another tag"
    return found


def find_pointers_called_x(tree):
    found = {}
    for path, text in sources(tree, ("src/",)):
        bare = code_only(text)
        for match in POINTER_X.finditer(bare):
            message = "a pointer called x: name what it points at"
            found.setdefault(path, []).append((line_of(bare, match.end()), message))
    return found


def level_of(path):
    """What a file's folder may be compared with: all folders of one level."""
    top = path.split("/")[1]
    return LEVELS.get(top, top)


def find_weak_file_names(tree):
    """Files that share their name with one of another folder of their level, and those with vague names."""
    places, found = collections.defaultdict(set), {}
    paths = [path for path, _ in sources(tree, ("src/",)) if path.endswith(".c") and path.count("/") > 1]
    for path in paths:
        places[level_of(path), path.rsplit("/", 1)[1]].add(path)
    for path in paths:
        base = path.rsplit("/", 1)[1]
        others = ", ".join(sorted(places[level_of(path), base] - {path}))
        if others:
            found[path, ""] = 1, f"{others} has the same name: name the file after what is special about it"
        elif base[:-2] in VAGUE_FILES:
            found[path, ""] = 1, f"'{base}' says nothing about what is in it: name its noun"
    return found


ONE_WORD_FUNCTIONS = Names("tests/tidy/one_word_functions.txt", find_one_word_functions)
REPEATED_FUNCTIONS = Names("tests/tidy/repeated_functions.txt", find_repeated_functions)
REPEATED_TAGS = Names("tests/tidy/repeated_tags.txt", find_repeated_tags)
POINTERS_CALLED_X = Counts("tests/tidy/pointers_called_x.txt", find_pointers_called_x)
WEAK_FILE_NAMES = Names("tests/tidy/weak_file_names.txt", find_weak_file_names, has_names=False)
RATCHETS = [ONE_WORD_FUNCTIONS, REPEATED_FUNCTIONS, REPEATED_TAGS, POINTERS_CALLED_X, WEAK_FILE_NAMES]


def rule_one_word_functions(tree):
    """names of functions have more than one word"""
    return ONE_WORD_FUNCTIONS.check(tree)


def rule_repeated_functions(tree):
    """no static function has the name of a global one"""
    return REPEATED_FUNCTIONS.check(tree)


def rule_repeated_tags(tree):
    """a tag in a header is defined once in the tree"""
    return REPEATED_TAGS.check(tree)


def rule_pointers_called_x(tree):
    """pointers say what they point at"""
    return POINTERS_CALLED_X.check(tree)


def rule_file_names(tree):
    """names of files are specific, and unique on their level"""
    return WEAK_FILE_NAMES.check(tree)


RULES = [value for name, value in list(globals().items()) if name.startswith("rule_")]
