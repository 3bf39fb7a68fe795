"""What a page can be wrong about without being run: links, anchors, files that it shows, commands."""

import functools
import glob
import os
import re
import shlex

from harness import ROOT, berth, run
from pages import blocks_of

LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+(?:\([^()]*\))?)\)")
SPAN = re.compile(r"(`+)(.+?)\1")
OUTSIDE = re.compile(r"^[a-z][a-z0-9+.-]*:")
# `berth`, by any path, where a command begins: at the start, behind sudo or variables, or in $(…).
BERTH = re.compile(r"(?:^|\$\()(?:sudo )?(?:\w+=\S* )*(?:[\w./\"$-]*/)?berth (.*)$")
MAKE_RUN = re.compile(r"\bBERTH_FLAGS=\"?([^\"`]*)\"?")


def pages():
    """Every page that is kept in the repository, path below the root -> text."""
    listed = run("git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "*.md")
    assert listed.returncode == 0, listed.stderr
    found = {}
    for path in filter(lambda p: os.path.exists(os.path.join(ROOT, p)), listed.stdout.splitlines()):
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            found[path] = file.read()
    assert "README.md" in found and len(found) > 10, sorted(found)
    return found


def lines_of_prose(text):
    """(number, line) of what is in no fenced block."""
    inside = None
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and inside is None:
            inside = mark[1]
        elif mark and line.strip() == inside:
            inside = None
        elif inside is None:
            yield number, line


# --- Links ---


def anchors_of(text):
    """The names by which a page's headings are reached, as GitHub makes them."""
    found, seen = set(), {}
    for _, line in lines_of_prose(text):
        heading = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if heading:
            words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).replace("`", "")
            slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            count = seen.get(slug, 0)
            seen[slug] = count + 1
            found.add(f"{slug}-{count}" if count else slug)
    return found


def links_of(text):
    """(line, target) of every link that stays in the repository."""
    for number, line in lines_of_prose(text):
        for target in LINK.findall(SPAN.sub("", line)):
            if not OUTSIDE.match(target):
                yield number, target


def broken_links(texts):
    """One sentence for each link that leads nowhere."""
    for page, text in sorted(texts.items()):
        for number, target in links_of(text):
            there, anchor = target_of(page, target)
            if not os.path.exists(os.path.join(ROOT, there)) and there not in texts:
                yield f"{page}:{number}: there is no {there}"
            elif anchor and anchor not in anchors_of(texts.get(there, "")):
                yield f"{page}:{number}: {there} has no heading for #{anchor}"


def target_of(page, link):
    """(path below the root, anchor) of a link on a page."""
    path, _, anchor = link.partition("#")
    return (os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page), anchor


def linked_from(texts, start, links_max):
    """{(page, anchor)} of all link targets that a reader reaches from start with at most links_max links."""
    found, pages_now = set(), {start}
    for _ in range(links_max):
        here = pages_now & texts.keys()
        targets = {target_of(page, link) for page in here for _, link in links_of(texts[page])}
        pages_now = {page for page, _ in targets}
        found |= targets
    return found


def section_of(text, anchor):
    """The text below the heading with this anchor, up to the next heading of its level; None without one."""
    lines, prose_lines = text.splitlines(), dict(lines_of_prose(text))
    headings = [n for n, line in prose_lines.items() if re.match(r"#{1,6}\s", line)]
    for number in headings:
        up_to_here = "\n".join(prose_lines[n] for n in headings if n <= number)
        before = "\n".join(prose_lines[n] for n in headings if n < number)
        if anchor in anchors_of(up_to_here) - anchors_of(before):
            level = len(re.match(r"#+", lines[number - 1])[0])
            end = next((n for n in headings if n > number and len(re.match(r"#+", lines[n - 1])[0]) <= level),
                       len(lines) + 1)
            return "\n".join(lines[number : end - 1])
    return None


def unanswered(texts, questions, start, links_max):
    """One sentence for each question whose answer a reader does not find.
    questions: {question: (page, anchor, words that the section must contain)}."""
    reached = linked_from(texts, start, links_max)
    for question, (page, anchor, words) in questions.items():
        section = section_of(texts.get(page, ""), anchor)
        if section is None:
            yield f"{question}: {page} has no heading for #{anchor}"
        elif (page, anchor) not in reached:
            yield f"{question}: no link to {page}#{anchor} within {links_max} links from {start}"
        else:
            missing = [word for word in words if word not in section]
            if missing:
                yield f"{question}: {page}#{anchor} does not contain {', '.join(missing)}"


# --- Files that are named or shown ---


def missing_paths(texts):
    """One sentence for each path of the repository between backquotes that leads nowhere. A * stands for any
    name, and what is built is not looked for."""
    for page, text in sorted(texts.items()):
        for number, line in lines_of_prose(text):
            for _, span in SPAN.findall(line):
                path = span.split()[0].rstrip("/")
                if re.fullmatch(r"(docs|deploy|examples|scripts|src|tests)/[a-z0-9_*./-]+", path):
                    if not glob.glob(os.path.join(ROOT, path)):
                        yield f"{page}:{number}: there is no {path}"


def unknown_targets(texts):
    """One sentence for each `make TARGET` that the Makefile does not have."""
    with open(os.path.join(ROOT, "Makefile"), encoding="utf-8") as file:
        known = set(re.findall(r"^([a-z-]+):", file.read(), flags=re.MULTILINE))
    for page, text in sorted(texts.items()):
        spans = [(n, span) for n, line in lines_of_prose(text) for _, span in SPAN.findall(line)]
        for block in blocks_of(text):
            spans += [(n, line.removeprefix("$ ")) for n, line in enumerate(block.lines, block.line + 1)]
        for number, span in spans:
            named = re.match(r"(?:sudo )?make ([a-z-]+)", span)
            if named and named[1] not in known:
                yield f"{page}:{number}: there is no make {named[1]}"


def shown_wrongly(texts):
    """One sentence for each block that shows a file and is no piece of it."""
    for page, text in sorted(texts.items()):
        for block in blocks_of(text):
            _, _, path = block.info.partition(" ")
            if not path:
                continue
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                whole = file.read()
            if "\n".join(["", *block.lines, ""]) not in "\n" + whole:
                yield f"{page}:{block.line}: this is not in {path}"


# --- Commands ---


@functools.lru_cache(maxsize=None)
def verbs():
    said = berth("help")
    assert said.returncode == 0, said
    return set(re.findall(r"^  ([a-z]+)  ", said.stdout, flags=re.MULTILINE))


@functools.lru_cache(maxsize=None)
def flags_of(verb):
    said = berth("help", verb)
    assert said.returncode == 0, said
    return {"-h", "--help", *re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", said.stdout)}


def words_of(text):
    """A command's words up to the next command. Brackets say that a word may be left out, … that more
    would follow."""
    text = re.sub(r"[\[\]…]", " ", text)
    try:
        words = shlex.split(text, comments=True)
    except ValueError:  # an apostrophe in what is no shell command
        words = text.split()
    for end, word in enumerate(words):
        if word in ("|", "||", "&&", ";", "&") or re.match(r"\d?>|<", word):
            return words[:end]
        if word.endswith(")") and "(" not in word:  # the end of $(berth …)
            return [*words[:end], word.rstrip(")")]
    return words


def complaint_about(text):
    """What is wrong with `VERB ARGUMENT…`; None when nothing is."""
    words = words_of(text)
    if not words:
        return None
    named = words[0].split("|")
    if all(name.isupper() for name in named) or words[0].startswith("-"):
        return None
    for verb in named:
        if verb not in verbs():
            return f"there is no 'berth {verb}'"
    known = set.union(*(flags_of(verb) for verb in named))
    for word in words[1:]:
        flag = re.match(r"--?[a-zA-Z][\w-]*", word)
        if flag and flag[0] not in known and flag[0][:2] not in known - {"--"}:
            return f"'berth {words[0]}' has no {flag[0]}"
    return None


def commands_of(text):
    """(line, what follows the word berth) of what reads as a command: in blocks, and between backquotes."""
    for block in blocks_of(text):
        for number, line in enumerate(block.lines, block.line + 1):
            found = BERTH.search(re.sub(r"^[$>#] ", "", line.strip()))
            if found:
                yield number, found[1]
            for flags in MAKE_RUN.findall(line):
                yield number, f"serve {flags}"
    for number, line in lines_of_prose(text):
        for _, span in SPAN.findall(line):
            found = BERTH.search(span)
            if found:
                yield number, found[1]


def unknown_commands(texts):
    """One sentence for each command that Berth would refuse to read."""
    for page, text in sorted(texts.items()):
        for number, command in commands_of(text):
            wrong = complaint_about(command)
            if wrong:
                yield f"{page}:{number}: {wrong}: berth {command}"
