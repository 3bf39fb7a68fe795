"""Tables of what the tree still has and must not get more of.

A rule that the tree does not keep yet has a table of today's exceptions beside it. An entry may shrink or go,
never grow, and nothing may be added. An absent or empty table means that there are no exceptions.

`tests/tidy/tidy --lower` writes every table again with what is still found of it. The tables are merged line
by line (.gitattributes), so run it after a merge too.
"""

import os

LOWER = "run tests/tidy/tidy --lower"


def rows(tree, table):
    """(line, path, the other fields) of each row; # begins a comment."""
    for number, line in enumerate(tree.get(table, "").splitlines(), 1):
        fields = line.split("#")[0].split()
        if fields:
            yield number, fields[0], fields[1:]


def comments(tree, table):
    return "".join(line + "\n" for line in tree.get(table, "").splitlines() if line.startswith("#"))


class Counts:
    """PATH COUNT: how many findings a file may have."""

    def __init__(self, table, find):
        self.table = table
        self.find = find  # tree -> {path: [(line, message)]}

    def allowed(self, tree):
        """path -> (line of the table, count); a path that is listed twice has the smaller count."""
        found = {}
        for number, path, fields in rows(tree, self.table):
            count = int(fields[0])
            if path not in found or count < found[path][1]:
                found[path] = number, count
        return found

    def check(self, tree):
        found, allowed = self.find(tree), self.allowed(tree)
        for path in sorted(found):
            count, most = len(found[path]), allowed.get(path, (0, 0))[1]
            if count > most:
                for line, message in found[path]:
                    yield path, line, f"{message} ({count} here, {self.table} allows {most})"
        seen = set()
        for number, path, fields in rows(tree, self.table):
            count = len(found.get(path, ()))
            if path in seen:
                yield self.table, number, f"{path} is listed twice: {LOWER}"
            elif path not in tree:
                yield self.table, number, f"{path} is gone: rename the entry with its file, or {LOWER}"
            elif count < int(fields[0]):
                yield self.table, number, f"{path} has {count}, its entry says {fields[0]}: {LOWER}"
            seen.add(path)

    def lowered(self, tree):
        found, text = self.find(tree), comments(tree, self.table)
        for path, (_, most) in sorted(self.allowed(tree).items()):
            count = min(most, len(found.get(path, ())))
            text += f"{path} {count}\n" if count else ""
        return text


class Names:
    """PATH NAME...: which findings a file may have. In a table of files there are no names."""

    def __init__(self, table, find, has_names=True):
        self.table = table
        self.find = find  # tree -> {(path, name): (line, message)}; the name is "" in a table of files
        self.has_names = has_names

    def listed(self, tree):
        """(line of the table, path, name) of each entry."""
        for number, path, fields in rows(tree, self.table):
            for name in fields if self.has_names else [""]:
                yield number, path, name

    def check(self, tree):
        found = self.find(tree)
        entries = [(path, name) for _, path, name in self.listed(tree)]
        for (path, name), (line, message) in sorted(found.items()):
            if (path, name) not in entries:
                yield path, line, message
        seen = set()
        for number, path, name in self.listed(tree):
            what = f"{path} {name}".strip()
            if (path, name) in seen:
                yield self.table, number, f"{what} is listed twice: {LOWER}"
            elif path not in tree:
                yield self.table, number, f"{path} is gone: rename the entry with its file, or {LOWER}"
            elif (path, name) not in found:
                yield self.table, number, f"{what} is no exception any longer: {LOWER}"
            seen.add((path, name))

    def lowered(self, tree):
        found, kept = self.find(tree), {}
        for _, path, name in self.listed(tree):
            if (path, name) in found:
                kept.setdefault(path, set()).add(name)
        text = comments(tree, self.table)
        for path, names in sorted(kept.items()):
            text += " ".join([path, *sorted(names)]).strip() + "\n"
        return text


def lower(root, tree, tables):
    """Writes each table again with the entries that still hold. Names the tables that changed."""
    for table in tables:
        text = table.lowered(tree)
        if text != tree.get(table.table, ""):
            with open(os.path.join(root, table.table), "w", encoding="utf-8") as file:
                file.write(text)
            print(f"lowered {table.table}")
