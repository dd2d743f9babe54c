# SPDX-License-Identifier: MIT
"""agree - help, docs/commands.md, the manual pages and the shell completions list the same commands and options.

Each is read the way its users read it: the text that help prints, the tables of the document, the pages that man
renders, the words that bash and zsh offer. The parser decides what is an option: the tests pass it each one.
"""

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

from built import BUILD, PLIMSOLL, SOURCE  # noqa: E402
from claims import Skip, add, claim, expect, main  # noqa: E402
from patience import PATIENCE_S  # noqa: E402

BASH = BUILD / "completion" / "plimsoll"
ZSH = BUILD / "completion" / "_plimsoll"
WIDE = {**os.environ, "COLUMNS": "300", "MANWIDTH": "300", "LC_ALL": "C.UTF-8", "MAN_KEEP_FORMATTING": "",
        "PATH": f"{BUILD}:{os.environ['PATH']}"}


def run(*command, status=0, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=WIDE, timeout=PATIENCE_S,
                          stdin=subprocess.DEVNULL, **options)
    assert done.returncode == status, f"{command}: status {done.returncode}: {done.stderr}"
    return done


def need(program):
    if not shutil.which(program):
        raise Skip(f"{program} is not installed")
    return program


# ---- what each source lists: commands, and (letter, name, does it take a value) of their options ----

HELP = ("h", "help", False)


@functools.cache
def commands():
    section = run(PLIMSOLL, "help").stdout.split("\nCommands\n")[1].split("\n\n")[0]
    found = re.findall(r"^  (\S+)", section, re.MULTILINE)
    assert len(found) > 5, section
    return found


@functools.cache
def by_help(command):
    section = run(PLIMSOLL, "help", command).stdout.split("\nOptions\n")[1].split("\nExamples\n")[0]
    found = re.findall(r"^  (?:-(\w), |    )--([\w-]+)( \S+)?(?:  |$)", section, re.MULTILINE)
    return {(letter, name, bool(takes)) for letter, name, takes in found}


@functools.cache
def document():
    """{command: its section}"""
    text = (SOURCE / "docs" / "commands.md").read_text()
    parts = re.split(r"^## plimsoll (\S+)$", text.split("\n## Topic: ")[0], flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def by_document(command):
    """The document lists --help once, for all commands."""
    rows = re.findall(r"^\| (?:`-(\w)`, )?`--([\w-]+)( [^`]+)?` \|", document()[command], re.MULTILINE)
    return {(letter, name, bool(takes)) for letter, name, takes in rows} | {HELP}


@functools.cache
def page(name):
    path = BUILD / "man" / f"{name}.1"
    if not path.is_file():
        raise Skip("manual pages were not built")
    done = run(need("man"), "--warnings", "-l", path)
    assert not done.stderr, done.stderr
    return re.sub(r".\x08", "", done.stdout)


def section(name, title):
    return re.split(r"\n(?=\S)", page(name).split(f"\n{title}\n")[1])[0]


def by_page(command):
    rows = re.findall(r"^ {7}(?:-(\w), )?--([\w-]+)( .+)?$", section(f"plimsoll-{command}", "OPTIONS"), re.MULTILINE)
    return {(letter, name, bool(takes)) for letter, name, takes in rows}


def bash(*words, directory="/"):
    """What bash offers for the last of these words."""
    script = """
        source "$0" && COMP_WORDS=(plimsoll "$@") COMP_CWORD=$# && _plimsoll && printf '%s\\n' "${COMPREPLY[@]}"
    """
    offered = run("bash", "-c", script, BASH, *words, cwd=directory).stdout.splitlines()
    return sorted(set(filter(None, offered)))


def by_bash(command):
    offered = bash(command, "-")
    letters = {word[1] for word in offered if not word.startswith("--")}
    # When bash offers no option behind a word, that word is an option that needs a value.
    return {("", word[2:], not bash(command, word, "--help")) for word in offered if word.startswith("--")}, letters


def by_zsh(command):
    body = re.search(rf"^__plimsoll-{command}\(\)\n{{\n(.*?)^}}", ZSH.read_text(), re.MULTILINE | re.DOTALL)[1]
    paired = re.findall(r"^ +'\(-(\w) --([\w-]+)\)'{-\1\+?,--\2(=?)}'", body, re.MULTILINE)
    alone = re.findall(r"^ +'()--([\w-]+)(=?)\[", body, re.MULTILINE)
    return {(letter, name, bool(sign)) for letter, name, sign in paired + alone}


def without_letters(options):
    return {("", name, takes) for _, name, takes in options}


# ---- they agree ----


def check_command(command):
    options = by_help(command)
    assert HELP in options
    for what, said in (("docs/commands.md", by_document), ("its manual page", by_page), ("zsh", by_zsh)):
        expect((f"{' '.join(map(str, option))} is not in both" for option in options ^ said(command)), what)
    offered, letters = by_bash(command)
    expect((f"--{option[1]} is not in both" for option in without_letters(options) ^ offered), "bash")
    assert letters == {letter for letter, _, _ in options if letter}, letters


def check_parser(command):
    """The parser accepts each option by name and by letter, and needs a value exactly where help shows one."""
    for letter, name, takes in sorted(by_help(command)):
        for word in [f"--{name}"] + ([f"-{letter}"] if letter else []):
            done = run(PLIMSOLL, command, *([word] if takes else [word, "--help"]), status=2 if takes else 0)
            assert not takes or f"{word} needs a value" in done.stderr, done.stderr


for name in commands():
    add(f"help, document, manual page and completion of {name} have the same options",
        functools.partial(check_command, name))
    add(f"the parser accepts every option of {name} that help lists", functools.partial(check_parser, name))


@claim
def help_document_pages_and_completions_list_the_same_commands():
    known = sorted(commands())
    assert sorted(document()) == known
    assert bash("") == known
    assert sorted(re.findall(r"^    '(\w+):", ZSH.read_text(), re.MULTILINE)) == known
    assert sorted(re.findall(r"^__plimsoll-(\w+)\(\)", ZSH.read_text(), re.MULTILINE)) == known
    table = (SOURCE / "src" / "cli" / "main.c").read_text()
    assert sorted(re.findall(r"&pl_command_(\w+)", table.split("pl_commands[] = {")[1].split("NULL")[0])) == known


@claim
def each_command_has_a_manual_page_and_plimsoll_has_one():
    page("plimsoll")
    found = sorted(path.name for path in (BUILD / "man").glob("*.1"))
    assert found == sorted(["plimsoll.1", *(f"plimsoll-{command}.1" for command in commands())]), found
    listed = re.findall(r"^ {7}plimsoll-(\w+)\(1\)$", section("plimsoll", "COMMANDS"), re.MULTILINE)
    assert listed == commands(), listed


@claim
def manual_pages_have_the_sections_that_people_look_for():
    for command in commands():
        titles = re.findall(r"^(\S.*)$", page(f"plimsoll-{command}"), re.MULTILINE)[1:-1]
        wanted = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS", "SEE ALSO"]
        assert [title for title in titles if title != "FILES"] == wanted, (command, titles)
        assert section(f"plimsoll-{command}", "SYNOPSIS").strip().startswith(f"plimsoll {command} [options]")


@claim
def manual_pages_show_no_markup():
    for name in ["plimsoll", *(f"plimsoll-{command}" for command in commands())]:
        text = re.sub(r"(?s)\nEXAMPLES\n.*?\n(?=\S)", "\n", page(name))
        expect((f"{name}: {line.strip()}" for line in text.splitlines() if re.search(r"`|\\|(?<!\w)_\w+_|\*\w", line)
                and not re.match(r" {11}|.*(regular expression|REGEX)", line)), "left-overs")


@claim
def the_manual_page_of_plimsoll_has_every_topic_and_every_variable():
    topics = run(PLIMSOLL, "help").stdout.split("\nTopics\n")[1].split("\n\n")[0]
    names = re.findall(r"^  (\S+)", topics, re.MULTILINE)
    assert len(names) > 5, topics
    for topic in names:
        assert f"\n{topic.upper()}\n" in page("plimsoll"), topic
    variables = set(re.findall(r'"(PLIMSOLL_\w+)"', (SOURCE / "src" / "format" / "settings.h").read_text()))
    assert len(variables) > 5, variables
    expect((f"{variable} is missing" for variable in sorted(variables) if f" {variable}=" not in page("plimsoll")))


# ---- completion, as shells do it ----


@functools.cache
def scratch():
    path = Path(tempfile.mkdtemp(prefix="plimsoll-test.", dir="/dev/shm"))
    for name in ("one.plim", "two words.plim", "other.txt"):
        (path / name).touch()
    (path / "deeper").mkdir()
    return path


@claim
def bash_offers_the_values_that_an_option_accepts():
    refused = run(PLIMSOLL, "export", "--format", "?", status=2).stderr
    formats = re.search(r"use (.*?)(?:, for example.*)?$", refused, re.MULTILINE)[1]
    assert bash("export", "--format", "") == sorted(re.split(r", | or ", formats)), formats
    assert bash("export", "-f", "tags-d") == ["tags-dot"]
    assert bash("export", "--metric", "=", "li") == ["live"]
    assert bash("report", "--color", "=") == ["always", "auto", "never"]
    assert bash("run", "--sample", "") == ["auto", "exact"]


@claim
def bash_offers_profiles_files_topics_and_programs():
    place = scratch()
    offered = [word for word in bash("report", "", directory=place) if not word.isdigit()]
    assert offered == ["deeper", "one.plim", "two words.plim"], offered
    assert bash("export", "-o", "o", directory=place) == ["one.plim", "other.txt"]
    assert bash("help", "stat") == ["static"]
    assert "bash" in bash("run", "--exact", "bas")
    assert "bash" in bash("run", "--sample", "64K", "--", "bas")
    assert bash("run", "--sample", "=", "64K", "cat", "oth", directory=place) == ["other.txt"]
    assert bash("run", "cat", "--ex", directory=place) == []


@claim
def bash_offers_the_pids_of_profiled_processes():
    environment = {**WIDE, "LD_PRELOAD": str(BUILD / "libplimsoll.so"), "PLIMSOLL_OUT": str(scratch() / "gone.plim")}
    with subprocess.Popen(["/usr/bin/cat"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(b"up\n")
        process.stdin.flush()
        process.stdout.readline()
        offered = bash("snapshot", "")
        process.stdin.close()
    assert str(process.pid) in offered, offered
    assert str(process.pid) not in bash("snapshot", "")


@claim
def bash_offers_the_words_of_control():
    assert set(bash("control", "1", "")) >= {"off", "on", "reset", "sample", "exact", "auto", "overhead", "snapshot"}
    assert bash("control", "1", "ov") == ["overhead"]


@claim
def zsh_parses_its_completion_script():
    run(need("zsh"), "-n", ZSH)


@claim
def zsh_offers_commands_options_choices_and_profiles():
    script = HERE / "complete.zsh"
    for typed, wanted in (("plimsoll ", commands()), ("plimsoll export --for", ["--force", "--format"]),
                          ("plimsoll export --format=tags-", ["tags-dot", "tags-json", "tags-svg"]),
                          ("plimsoll report ", ["one.plim", "two"])):
        said = run(need("zsh"), "-f", script, BUILD, scratch(), typed).stdout
        expect((f"{word} is not offered for {typed!r}: {said}" for word in wanted
                if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", said)))


try:
    sys.exit(main())
finally:
    shutil.rmtree(scratch(), ignore_errors=True)
