"""Rules that no compiler checks. Those for names are in names.py, those for the language in words.py.

A rule is a function from a tree (path -> text) to complaints (path, line, message). Rules read text, not
the disk, so that selftest can feed each of them a bad snippet. They rely on the code being formatted: a
function's braces stand in the first column.
"""

import ast
import collections
import functools
import io
import re
import tokenize

COLUMNS_MAX = 110
FUNCTION_LINES_MAX = 70
RATCHET = "tests/tidy/long_functions.txt"
THIS_FILE = "tests/tidy/rules.py"
SCENARIOS = "docs/scenarios.md"

# Folder -> level: a file may include its own folder and lower levels. docs/architecture.md explains them.
LEVELS = {
    "base": 0,
    "io": 1,
    "api": 2,
    "store": 3,
    "client": 3,
    "machinery": 3,
    "host": 3,
    "http": 3,
    "rpc": 3,
    "plugins": 4,
    "apiserver": 4,
    "volumes": 4,
    "controllers": 5,
    "scheduler": 5,
    "node": 5,
    "why": 6,
    "daemon": 8,
    "bench": 8,
    "cli": 8,
    "main": 8,
}
SIDEWAYS = {
    ("machinery", "client"),
    ("bench", "daemon"),
    ("cli", "daemon"),
    ("cli", "bench"),
    ("main", "cli"),
}
SIM_USERS = {"src/cli/sim.c"}

# Each library has one door.
LIBRARIES = {
    r"uv\.h|uv/.*": {"io"},
    r"yajl/.*": {"api"},
    r"yaml\.h": {"api"},
    r"sqlite3\.h": {"store"},
    r"curl/.*": {"client"},
    r"microhttpd\.h": {"http"},
    r"gnutls/.*": {"io", "client", "http"},
    r"zlib\.h": {"http"},
    r"libmount/.*|blkid/.*": {"host"},
    r"nghttp2/.*": {"rpc"},
    r"protobuf-c/.*|.*\.pb-c\.h": {"bench", "controllers", "plugins", "rpc", "sim"},
    r"jansson\.h": set(),
    r"cmocka\.h": set(),
}

BANNED = {
    "strcpy stpcpy strncpy strcat strncat": "buf_add_cstr() or snprintf()",
    "sprintf vsprintf": "buf_addf() or snprintf()",
    "atoi atol atoll": "str_to_int64()",
    "gets": "a bounded read",
    "strtok strtok_r": "str_next()",
    "alloca": "an arena or a buf",
    "system popen": "a child process of io/",
    "rand srand random srandom rand_r drand48": "base/rng.h, seeded",
    "sleep usleep nanosleep": "a timer; in a test, the awaited condition",
    "tmpnam tempnam mktemp": "mkostemp()",
    "localtime gmtime ctime asctime": "a function that takes its own storage",
    "vfork": "a child process of io/",
}

# What reaches outside the process. `time` and its like are here too: a clock is handed down, never asked.
SYSTEM_CALLS = set(
    """
    access chdir chmod chown close creat dup dup2 dup3 faccessat fallocate fchmod fchown fchmodat
    fchownat fcntl fdatasync flock fstat fstatat fsync ftruncate getcwd ioctl link linkat lseek
    lstat mkdir mkdirat mkfifo mknod mkostemp mkstemp mkdtemp open openat openat2 pipe pipe2 pread
    pwrite read readlink readlinkat readv realpath rename renameat renameat2 rmdir stat statfs
    statvfs statx symlink symlinkat sync syncfs truncate umask unlink unlinkat write writev
    opendir fdopendir readdir closedir scandir nftw fopen fdopen freopen fclose fread fgets getline
    getdelim remove tmpfile mmap munmap
    accept accept4 bind connect getaddrinfo getsockname listen poll ppoll pselect recv recvfrom
    recvmsg select send sendmsg sendto setsockopt shutdown socket socketpair epoll_create1 epoll_ctl
    epoll_wait eventfd inotify_init1 inotify_add_watch signalfd timerfd_create
    clone execl execle execlp execv execve execveat execvp execvpe fork kill posix_spawn
    posix_spawnp prctl raise setsid syscall unshare setns wait waitid waitpid pthread_create
    thrd_create sigaction signal sigprocmask
    mount umount umount2 pivot_root chroot
    clock clock_gettime clock_nanosleep gettimeofday time getenv secure_getenv setenv unsetenv
    putenv getrandom getentropy gethostname uname getpid getuid geteuid getlogin getpwnam getpwuid
    sysconf isatty abort
    """.split()
)
STREAM_CALLS = set(
    """
    printf vprintf puts putchar fprintf vfprintf fputs fputc putc fwrite fflush perror dprintf setvbuf
    """.split()
)
DOORS = ("src/io/",)

# (path or folder, calls, why). Small, and it stays so.
ALLOWED_CALLS = [
    ("src/main.c", STREAM_CALLS, "speaks to the person at the terminal"),
    ("src/cli/", STREAM_CALLS, "speaks to the person at the terminal"),
    ("src/daemon/report.c", {"fputs"}, "announces a server to the person who started it"),
    ("src/bench/", {"printf", "puts", "fflush"}, "prints its table as it is measured"),
    ("src/host/fs.c", {"mount", "unshare"}, "gives a process mounts of its own, before anything else"),
    ("src/host/mount_table.c", {"fclose"}, "reads a text as a stream"),
    ("src/host/mount_watch.c", {"open"}, "watches the real table: a model has its own way to tell"),
    ("src/host/system.c", {"sysconf", "uname"}, "says what the real machine is: a model says it itself"),
    ("src/sim/machine_files.c", {"close"}, "closes what a library has opened that knows Linux only"),
    ("src/sim/trace.c", {"puts"}, "a trace that was asked for, as it comes: a run that dies shows where"),
    ("src/sim/sim_world.c", {"fprintf"}, "a simulation that cannot begin says why before it ends"),
    ("src/sim/", {"abort"}, "a simulation that cannot go on proves nothing, and its trace shows where"),
    ("src/base/log.c", STREAM_CALLS, "the default sink of the log is standard error"),
    ("src/base/die.c", {"abort", "fprintf"}, "ends the process after a failure that cannot be returned"),
]

# Functions that the program does not call, and why they are there.
FOR_TESTS = {
    "explanation_looks": "shows what one slice of an explanation has cost",
    "field_selector_format": "writes what was parsed: tests and a fuzz target compare the two",
    "http_strangers": "shows how many connections count against the limit",
    "kind_by_plural": "finds a kind as paths name it, for tables of tests",
    "list_write": "writes lists as a server sends them, for tests of those who read them",
    "lists_cut_count": "shows that a list was cut, which nothing else does",
    "loop_advance": "lets time pass in a test",
    "managed_fields_is_noop": "compares two writers of managed fields, in tests and a fuzz target",
    "object_decode_any": "decodes an object of any kind, for tests of bad input and a fuzz target",
    "object_field": "reads a field of any object by its path, for tables of tests",
    "omap_check": "checks the invariants of the map, after every step of its test",
    "pool_is_idle": "lets a test wait for workers that need the loop meanwhile",
    "quantity_sub": "proves quantity_add() by undoing it",
    "rpc_served_defer": "answers a call later: the methods of the program answer at once",
    "rpc_server_connections": "shows how many connections count against the limit",
    "volume_index_free_count": "shows how much of it is free",
    "rpc_call_hold": "back-pressure of a streaming answer, proved before its first user in the program",
    "rpc_call_resume": "the same",
    "rpc_read": "the reader of answers by itself, for a fuzz target",
    "yaml_parse": "reads one document, for tests of the reader of streams",
}

# (path or folder, why): whoever speaks to the API other than by machinery/api_write.h. Small; it stays so.
CLIENT_SENDERS = [
    ("src/client/", "is the client"),
    ("src/machinery/", "is the way to write; caches, leases and events"),
    ("src/cli/session.c", "one request of a verb, whose answer is shown as it came"),
    ("src/daemon/remote.c", "asks a server for its version before anything is written"),
    ("src/bench/", "measures the client itself, and makes objects for the others"),
    ("src/sim/", "models of users, drivers and toy controllers, which are to err in their own ways"),
]

# Path or folder -> why JSON is written by hand there. Small, and it stays so.
HAND_WRITTEN_JSON = {
    "src/base/log.c": "lines of the log: base/ is below api/",
    "src/why/check_claims.c": "a command for a person to run, with a patch in quotes",
}

# Not ours to shape: foreign texts, saved inputs, expected outputs.
DATA = re.compile(r"^(LICENSE$|tests/fuzz/corpus/|tests/.*/(data|golden|expected)/|examples/)")
CODE = re.compile(r"\.(c|h|py)$|(^|/)(meson\.build|Makefile)$|^(scripts|\.ci|tests)/[^.]*$")

PYTHON = "#!/usr/bin/env python3"

LITERAL = r'"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'"


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


@functools.lru_cache(maxsize=None)
def without_comments(text):
    """The same text with comments blanked out; literals stay, so that a // in one is no comment."""

    def keep_literals(match):
        return match.group(0) if match.group(0)[0] in "\"'" else blank(match)

    return re.sub(LITERAL + r"|/\*.*?\*/|//[^\n]*", keep_literals, text, flags=re.S)


@functools.lru_cache(maxsize=None)
def code_only(text):
    """The same text with comments and literals blanked out."""
    return re.sub(LITERAL, blank, without_comments(text))


def sources(tree, under=("src/", "tests/")):
    return [(p, tree[p]) for p in sorted(tree) if p.startswith(under) and p.endswith((".c", ".h"))]


def includes(text):
    """(line, '"' or '<', name) of each include."""
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if match:
            yield number, match.group(1), match.group(2)


def folder_of(path):
    """The unit of the level table: the first folder below src/, and of controllers/ the controller's own."""
    parts = path.split("/")
    if len(parts) == 1:
        return parts[0].rsplit(".", 1)[0]
    if parts[0] == "controllers" and len(parts) > 2:
        return "/".join(parts[:2])
    return parts[0]


def may_include(path, name):
    """Why src/NAME may not be included by src/PATH; None when it may.

    What the controllers share stands in controllers/ itself."""
    here, there = folder_of(path), folder_of(name)
    top_here, top_there = here.split("/")[0], there.split("/")[0]
    if top_here == "sim" or here == there or (top_here, there) == ("controllers", "controllers"):
        return None
    if top_there == "sim":
        return None if "src/" + path in SIM_USERS else "only sim's own command may include sim/"
    for top in (top_here, top_there):
        if top not in LEVELS:
            return f"folder '{top}' has no level"
    if LEVELS[top_there] > LEVELS[top_here]:
        return f"points up: {top_there} is level {LEVELS[top_there]}, {top_here} is level {LEVELS[top_here]}"
    if LEVELS[top_there] == LEVELS[top_here] and (top_here, top_there) not in SIDEWAYS:
        return f"points sideways: {here} and {there} are both level {LEVELS[top_here]}"
    return None


def rule_include_levels(tree):
    """includes point down"""
    for path, text in sources(tree, ("src/",)):
        for line, kind, name in includes(text):
            if kind != '"':
                continue
            if "src/" + name not in tree:
                yield path, line, f"include '{name}': no such file under src/"
                continue
            reason = may_include(path[len("src/") :], name)
            if reason:
                yield path, line, f"include '{name}': {reason}"


def rule_include_circles(tree):
    """no header includes itself by a detour"""
    uses = {}
    for path, text in sources(tree, ("src/",)):
        if path.endswith(".h"):
            uses[path] = [(line, "src/" + name) for line, kind, name in includes(text) if kind == '"']

    def reaches(start, goal, seen):
        for _, name in uses.get(start, ()):
            if name == goal or (name not in seen and (seen.add(name) or reaches(name, goal, seen))):
                return True
        return False

    for path in uses:
        for line, name in uses[path]:
            if name == path or reaches(name, path, set()):
                yield path, line, f"include '{name[4:]}': leads back to this header"


def rule_own_header_first(tree):
    """a .c proves that its own header stands alone"""
    for path, text in sources(tree, ("src/",)):
        if path.endswith(".h") or path == "src/main.c":
            continue
        first = next(includes(text), None)
        own = path[len("src/") : -2] + ".h"
        if "src/" + own in tree:
            if not first or first[2] != own:
                yield path, first[0] if first else 1, f"'{own}' must be the first include"
        elif not first or first[1] != '"' or first[2].rsplit("/", 1)[0] != own.rsplit("/", 1)[0]:
            yield path, first[0] if first else 1, "a header of its own folder must be the first include"


def rule_header_guards(tree):
    """header guards are named after the path"""
    for path, text in sources(tree, ("src/",)):
        if not path.endswith(".h"):
            continue
        guard = "BERTH_" + re.sub(r"[^A-Z0-9]", "_", path[len("src/") :].upper())
        match = re.match(r"\s*#ifndef (\w+)\n#define (\w+)\n", without_comments(text))
        if not match or match.group(1) != guard or match.group(2) != guard:
            yield path, 1, f"the header guard must be {guard}"


def rule_library_doors(tree):
    """each library has one door"""
    for path, text in sources(tree, ("src/",)):
        folder = folder_of(path[len("src/") :]).split("/")[0]
        for line, kind, name in includes(text):
            for pattern, folders in LIBRARIES.items():
                if kind == "<" and re.fullmatch(pattern, name) and folder not in folders:
                    where = ", ".join(sorted(folders)) or "tests"
                    yield path, line, f"include <{name}> belongs in {where}"


@functools.lru_cache(maxsize=None)
def all_calls(text):
    """(line, name) of each call by plain name: not a member's, not part of a longer name."""
    pattern = re.compile(r"(?<![\w.])(?<!->)([A-Za-z_]\w*)\s*\(")
    lines = enumerate(code_only(text).splitlines(), 1)
    return [(number, match.group(1)) for number, line in lines for match in pattern.finditer(line)]


def calls(text, names):
    return [(number, name) for number, name in all_calls(text) if name in names]


def rule_banned_calls(tree):
    """no call that has a safer replacement"""
    replacement = {name: instead for names, instead in BANNED.items() for name in names.split()}
    for path, text in sources(tree):
        for line, name in calls(text, replacement):
            yield path, line, f"{name}(): use {replacement[name]}"


def rule_system_calls(tree):
    """only io/ reaches outside; host/ calls the kernel by io/sys.h"""
    for path, text in sources(tree, ("src/",)):
        if path.startswith(DOORS):
            continue
        allowed = set()
        for place, names, _why in ALLOWED_CALLS:
            if path == place or (place.endswith("/") and path.startswith(place)):
                allowed |= names
        for line, name in calls(text, (SYSTEM_CALLS | STREAM_CALLS) - allowed):
            yield path, line, f"{name}() reaches outside: call it by io/sys.h, in host/, or put it into io/"


def rule_one_way_to_write(tree):
    """only the client and machinery send requests; others write by machinery/api_write.h"""
    for path, text in sources(tree, ("src/",)):
        if any(path == p or (p.endswith("/") and path.startswith(p)) for p, _why in CLIENT_SENDERS):
            continue
        for line, name in calls(text, {"client_send"}):
            yield path, line, f"{name}(): write, and read what counts, by api_write_start()"


def call_texts(text, names):
    """(line, name, arguments) of each call, literals included."""
    bare, full = code_only(text), without_comments(text)
    for match in re.finditer(r"(?<![\w.])(?<!->)(" + names + r")\s*\(", bare):
        end, depth = match.end(), 1
        while depth and end < len(bare):
            depth += {"(": 1, ")": -1}.get(bare[end], 0)
            end += 1
        yield bare.count("\n", 0, match.start()) + 1, match.group(1), full[match.end() : end]


def rule_one_json_writer(tree):
    """JSON is written by api/json_out.h, not by hand"""
    # A message that quotes a name has a blank behind its colon.
    key = re.compile(r'\\"(?:[\w.$/%-]+|" *\w+ *")\\":(?! )')
    for path, text in sources(tree, ("src/",)):
        if any(path == p or (p.endswith("/") and path.startswith(p)) for p in HAND_WRITTEN_JSON):
            continue
        for line, name, arguments in call_texts(text, r"buf_add\w*|log_addf?|v?a?s?n?printf"):
            if key.search(re.sub(r'(?<!\\)"\s+"', "", arguments)):
                yield path, line, f"{name}() of a JSON key: use api/json_out.h"


def texts(tree):
    return [(path, tree[path]) for path in sorted(tree) if not DATA.match(path)]


def rule_leftovers(tree):
    """nothing is left for later"""
    words = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
    for path, text in texts(tree):
        for match in words.finditer(text):
            line = line_of(text, match.start())
            yield path, line, f"leftover {match.group(1)}: finish it, or open an issue"


def rule_machine_paths(tree):
    """nothing names the machine it was written on"""
    words = re.compile(r"(?<![\w.])/wo" r"rk/|/tmp/w" r"t\b|\.\./sha" r"red|/home/\w+/")
    for path, text in texts(tree):
        for match in words.finditer(text):
            yield path, line_of(text, match.start()), f"'{match.group(0)}' exists on one machine only"


def rule_whitespace(tree):
    """no tabs, no trailing blanks, no stray line ends"""
    for path, text in texts(tree):
        if text and not text.endswith("\n"):
            yield path, text.count("\n") + 1, "no line end at the end of the file"
        for number, line in enumerate(text.split("\n"), 1):
            if line != line.rstrip():
                yield path, number, "trailing blanks"
            if "\t" in (line.lstrip("\t") if path == "Makefile" else line):
                yield path, number, "tab"


def rule_columns(tree):
    """lines of code fit in 110 columns"""
    for path, text in texts(tree):
        if not CODE.search(path):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > COLUMNS_MAX:
                yield path, number, f"{len(line)} columns, more than {COLUMNS_MAX}"


def function_name(signature):
    """The last word before the parameters; of TEST(x) it is x."""
    bare = re.sub(r"__attribute__\(\(.*?\)\)\)?", "", signature)
    match = re.search(r"\bTEST\((\w+)", bare) or re.search(r"(\w+)\s*\(", bare)
    return match.group(1) if match else "?"


@functools.lru_cache(maxsize=None)
def functions_with_heads(text):
    """functions(), each with the text in front of its brace."""
    found = []
    lines = code_only(text).splitlines()
    start, table, length = None, None, 0
    for number, line in enumerate(lines, 1):
        if start is None:
            if line == "{":
                start, table, length = number, None, 1
            continue
        if table is None:
            length += 1
            indent = re.match(r"( +)(?:(?:static )?const .*|\} \w+\[\w*\] )= \{$", line)
            table = indent.group(1) + "};" if indent else None
        elif line.startswith(table):
            table = None
        if line == "}":
            head = start - 2
            while head >= 0 and lines[head].startswith(" "):
                head -= 1
            if head > 0 and re.match(r"static\b.*[^;{},]$", lines[head - 1]):  # the name is on a line below
                head -= 1
            signature = " ".join(lines[max(head, 0) : start - 1])
            found.append((start, function_name(signature), length, signature))
            start = None
    return found


def functions(text):
    """(line, name, length) of each function, from brace to brace; rows of a table inside do not count."""
    return [(line, name, length) for line, name, length, _head in functions_with_heads(text)]


def read_ratchet(tree):
    """(path, name) -> (line, length)."""
    entries = {}
    for number, line in enumerate(tree.get(RATCHET, "").splitlines(), 1):
        fields = line.split("#")[0].split()
        if len(fields) == 3:
            entries[fields[0], fields[1]] = number, int(fields[2])
    return entries


def rule_function_length(tree):
    """functions stay short; long ones only shrink"""
    ratchet = read_ratchet(tree)
    for path, text in sources(tree):
        for line, name, length in functions(text):
            _, listed = ratchet.pop((path, name), (0, None))
            if listed is None:
                if length > FUNCTION_LINES_MAX:
                    yield path, line, f"{name}() has {length} lines, more than {FUNCTION_LINES_MAX}"
            elif length > listed:
                yield path, line, f"{name}() has grown from {listed} to {length} lines"
            elif length <= FUNCTION_LINES_MAX:
                yield path, line, f"{name}() is short now: remove it from {RATCHET}"
            elif length < listed:
                yield path, line, f"{name}() has {length} lines: lower its entry of {listed} in {RATCHET}"
    for (path, name), (number, _) in ratchet.items():
        yield RATCHET, number, f"{name}() in {path} is gone: remove the entry"


# A prototype or definition that is not static, on a line of its own: the first name before a parenthesis.
DECLARATION = re.compile(r"^(?!static\b|typedef\b|return\b)[A-Za-z_][\w \t*]*?\b(\w+)\(", re.M)
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def rule_used_functions(tree):
    """functions in headers are used by the program, not by tests alone"""
    declared, uses, spare = {}, collections.Counter(), dict(FOR_TESTS)
    texts_of_code = [(path, COMMENT.sub(blank, text)) for path, text in sources(tree, ("src/",))]
    for path, text in texts_of_code:
        if path.endswith(".h"):
            for match in DECLARATION.finditer(text):
                declared.setdefault(match.group(1), (path, text.count("\n", 0, match.start()) + 1))
    for _, text in texts_of_code:
        words = re.findall(r"\w+", text)
        uses.update(name for name in words if name in declared)
        for ending in set(re.findall(r"##\s*(_\w+)", text)):  # a macro that makes names
            uses.update(name + ending for name in set(words) if name + ending in declared)
        uses.subtract(name for name in DECLARATION.findall(text) if name in declared)
    for name, (path, line) in sorted(declared.items()):
        listed = spare.pop(name, None)
        if uses[name] <= 0 and not listed:
            yield path, line, f"{name}() is used by tests at most: use it, delete it, or list it in FOR_TESTS"
        elif uses[name] > 0 and listed:
            yield path, line, f"{name}() is used by the program: remove it from FOR_TESTS"
    for name in sorted(spare) if THIS_FILE in tree else ():
        yield THIS_FILE, 1, f"{name}() is gone: remove it from FOR_TESTS"


# The areas of numbered scenarios: S1, S2 … of the binder, NAME-1, NAME-2 … of the others.
AREAS = "apiserver|attach|csi|etcd|local|machinery|node|plugins|runtime|scheduler"
NUMBER = rf"S[1-9]\d*|(?:{AREAS})-[1-9]\d*"
# In a comment. A quoted word is the name of an object ("node-1"), and so is a part of a longer one.
CITED = re.compile(rf"(?<![\w./'\"`-])(?:{NUMBER})(?![\w'\"`-])")
CITED_IN_NAME = re.compile(rf"(?:test_)?(?:((?:S[1-9]\d*_)+)|({AREAS})((?:_[1-9]\d*)+)_)")
NAMED_TEST = re.compile(r"`(test_\w+(?:\.c)?):(\w+)`")


def numbers_in_name(name):
    """S4_S5_sizes cites S4 and S5, scheduler_6_7_affinity cites scheduler-6 and scheduler-7."""
    match = CITED_IN_NAME.match(name)
    if not match:
        return []
    binder, area, numbers = match.groups()
    return binder.split("_")[:-1] if binder else [f"{area}-{number}" for number in numbers.split("_")[1:]]


def comments_of_c(text):
    """(line, comment)"""
    for match in re.finditer(LITERAL + r"|/\*.*?\*/|//[^\n]*", text, flags=re.S):
        if match.group(0)[0] == "/":
            yield text.count("\n", 0, match.start()) + 1, match.group(0)


def tests_of_c(text):
    """(name, first line, last line)"""
    for match in re.finditer(r"^TEST\((\w+)\).*?^\}", text, flags=re.S | re.M):
        first = text.count("\n", 0, match.start()) + 1
        yield match.group(1), first, first + match.group(0).count("\n")


def comments_of_python(text):
    """(line, comment): documentation strings of the file and its functions too"""
    module = ast.parse(text)
    for node in [module, *module.body]:
        if isinstance(node, (ast.Module, ast.FunctionDef)) and ast.get_docstring(node):
            yield node.body[0].lineno, ast.get_docstring(node)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def tests_of_python(text):
    """(name, first line, last line)"""
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.name, node.lineno, node.end_lineno


def citations(text, is_c):
    """The names of all tests, and (line, number, test) of each citation.

    A comment belongs to the test in which it stands, else to the next test below it, else to none."""
    tests = list(tests_of_c(text) if is_c else tests_of_python(text))
    found = [(first, number, name) for name, first, _ in tests for number in numbers_in_name(name)]
    if not re.search(NUMBER, text):  # most files, and looking at comments takes long
        return {name for name, _, _ in tests}, found
    for line, comment in comments_of_c(text) if is_c else comments_of_python(text):
        owner = next((name for name, _, last in tests if line <= last), None)
        found += [(line, number, owner) for number in CITED.findall(comment)]
    return {name for name, _, _ in tests}, found


def scenario_rows(text):
    """(line, number, cells behind it) of each row of the page"""
    for line, row in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
        if row.startswith("|") and re.fullmatch(NUMBER, cells[0]):
            yield line, cells[0], cells[1:]


def complaints_of_row(number, cells, files):
    """What is wrong with one row; files: path -> (tests, citations)"""
    if len(cells) != 3 or not all(cells):
        yield f"{number}: a row has a number, a situation, an outcome and tests"
        return
    named = NAMED_TEST.findall(cells[2])
    if not named or NAMED_TEST.sub("", cells[2]).strip(", "):
        yield f"{number}: name tests as `FILE:TEST`, with commas in between"
    for file, test in named:
        path = ("tests/unit/" if file.endswith(".c") else "tests/integration/") + file
        tests, found = files.get(path, ((), ()))
        if test not in tests:
            yield f"{number}: there is no test {test} in {path}"
        elif (number, test) not in {(cited, owner) for _, cited, owner in found}:
            yield f"{number}: {test} in {path} does not cite it, in its name or in a comment"


def rule_scenarios(tree):
    """numbered scenarios have tests, and tests cite scenarios that exist"""
    files, rows = {}, {}
    for path, text in texts(tree):
        is_c = path.endswith((".c", ".h"))
        is_test = path.startswith("tests/") and not path.startswith("tests/tidy/")
        if is_test and (is_c or path.endswith(".py") or text.startswith(PYTHON)):
            files[path] = citations(text, is_c)
    for line, number, cells in scenario_rows(tree.get(SCENARIOS, "")):
        if number in rows:
            yield SCENARIOS, line, f"{number} has a row already, in line {rows[number]}"
        rows[number] = line
        for complaint in complaints_of_row(number, cells, files):
            yield SCENARIOS, line, complaint
    for path, (_, found) in files.items():
        for line, number, _ in found:
            if number not in rows:
                yield path, line, f"{number} is cited and has no row in {SCENARIOS}"


RULES = [value for name, value in list(globals().items()) if name.startswith("rule_")]
