/* SPDX-License-Identifier: MIT */
/*
 * complete.c - completion scripts for shells.
 *
 * Everything comes from the tables: an option's choices are offered as they are, and the words in capitals in what an
 * option or a command takes give the kind of thing: FILE, PID, PROGRAM. A new command, option or choice needs no change
 * here.
 */
#include "cli/help/complete.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/help/help.h"
#include "cli/option.h"

/* --- kinds of things --- */

enum kind {
    FILES = 1u << 0,
    PROFILES = 1u << 1,
    DIRECTORIES = 1u << 2,
    PROCESSES = 1u << 3,
    PROGRAMS = 1u << 4,
    COMMANDS = 1u << 5,
    TOPICS = 1u << 6,
};

static const struct {
    const char *word;
    unsigned of_option, of_command;
} capitals[] = {
    {"FILE", FILES, PROFILES},
    {"PROFILE", PROFILES, PROFILES},
    {"PATTERN", FILES, FILES},
    {"DIRECTORY", DIRECTORIES, DIRECTORIES},
    {"PID", PROCESSES, PROCESSES},
    {"PROGRAM", PROGRAMS, PROGRAMS},
    {"COMMAND", COMMANDS, COMMANDS},
    {"TOPIC", TOPICS, TOPICS},
    {"BEFORE", PROFILES, PROFILES | PROCESSES},
    {"AFTER", PROFILES, PROFILES | PROCESSES},
};

static bool has_word(const char *text, const char *word)
{
    size_t bytes = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + bytes, word))
        if ((at == text || !isupper((unsigned char) at[-1])) && !isupper((unsigned char) at[bytes]))
            return true;
    return false;
}

static unsigned kinds_of_option(const struct pl_option *option)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < sizeof capitals / sizeof *capitals; i++)
        if (has_word(option->takes, capitals[i].word))
            kinds |= capitals[i].of_option;
    /* FILE|PID means a profile. */
    return kinds & PROCESSES && kinds & FILES ? PROFILES | PROCESSES : kinds;
}

/* The default is profiles. */
static unsigned kinds_of_command(const struct pl_command *command)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < sizeof capitals / sizeof *capitals; i++)
        if (has_word(command->arguments, capitals[i].word))
            kinds |= capitals[i].of_command;
    return kinds || !*command->arguments ? kinds : PROFILES;
}

/* The choices, "json pprof"; or the literal words of "BYTES|exact|auto". The caller frees the text. */
static char *words_of_option(const struct pl_option *option)
{
    char *list = pl_say_print("%s", ""), *copy = pl_say_print("%s", option->takes), *rest = copy;
    const char *const *choice = option->choices;
    for (const char *word; (word = choice ? *choice++ : strsep(&rest, "|"));) {
        if (option->offered && choice > option->choices + option->offered)
            break;
        if (!option->choices && !islower((unsigned char) *word) && !isdigit((unsigned char) *word))
            continue;
        pl_say_append(&list, " ", word);
    }
    free(copy);
    return list;
}

/* "run report ...": the names of commands and topics, if the kinds include them. The caller frees the text. */
static char *words_of_kinds(unsigned kinds)
{
    char *text;
    size_t bytes;
    FILE *out = pl_say_memory(open_memstream(&text, &bytes));
    const char *before = "";
    for (size_t i = 0; kinds & COMMANDS && pl_commands[i]; i++, before = " ")
        fprintf(out, "%s%s", before, pl_commands[i]->name);
    for (const struct pl_topic *topic = pl_topics; kinds & TOPICS && topic->name; topic++, before = " ")
        fprintf(out, "%s%s", before, topic->name);
    fclose(out);
    return pl_say_memory(text);
}

/* The same for a command, with the literal words of its arguments: "off on reset". The caller frees the text. */
static char *words_of_command(const struct pl_command *command, unsigned kinds)
{
    char *list = words_of_kinds(kinds), *copy = pl_say_print("%s", command->arguments), *rest = copy;
    for (const char *word; (word = strsep(&rest, " |[].")) != NULL;)
        if (islower((unsigned char) *word))
            pl_say_append(&list, " ", word);
    free(copy);
    return list;
}

/* Calls `use` for every option of a command, --help too. */
static void each_option(const struct pl_command *command,
                        void (*use)(const struct pl_command *command, const struct pl_option *option))
{
    for (const struct pl_option *option = command->options; option->help; option++)
        if (option->name)
            use(command, option);
    use(command, &pl_option_help);
}

/* --- bash --- */

static const char bash_head[] =
    "# Completion of plimsoll for bash. Printed by `plimsoll help --complete bash`.\n"
    "\n"
    "# _plimsoll_offer WORDS KINDS: completes $cur with words and things of these kinds\n"
    "_plimsoll_offer()\n"
    "{\n"
    "    local kind more\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\")\n"
    "    for kind in $2; do\n"
    "        more=()\n"
    "        case $kind in\n"
    "        files) mapfile -t more < <(compgen -f -- \"$cur\") ;;\n"
    "        profiles) mapfile -t more < <(compgen -f -X '!*.plim' -- \"$cur\"; compgen -d -- \"$cur\") ;;\n"
    "        directories) mapfile -t more < <(compgen -d -- \"$cur\") ;;\n"
    "        programs) mapfile -t more < <(compgen -c -- \"$cur\") ;;\n"
    "        processes)\n"
    "            more=$(\"${COMP_WORDS[0]}\" ls --no-header 2>/dev/null |\n"
    "                sed -n 's/^ *\\([0-9][0-9]*\\)  .*  running  .*/\\1/p')\n"
    "            mapfile -t more < <(compgen -W \"$more\" -- \"$cur\")\n"
    "            ;;\n"
    "        esac\n"
    "        COMPREPLY+=(\"${more[@]}\")\n"
    "        [ $kind = processes ] || compopt -o filenames 2>/dev/null\n"
    "    done\n"
    "    return 0\n"
    "}\n"
    "\n";

static const char bash_tail[] =
    "# Sets `program` to the index of the word that is the program of `plimsoll run`, if there is one yet.\n"
    "_plimsoll_find_program()\n"
    "{\n"
    "    local i\n"
    "    program=0\n"
    "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
    "        case ${COMP_WORDS[i]} in\n"
    "        --) program=$((i + 1)) && return ;;\n"
    "        =) ((i++)) ;;\n"
    "        -*) [[ $valued != *\" ${COMP_WORDS[i]} \"* || ${COMP_WORDS[i + 1]} == = ]] || ((i++)) ;;\n"
    "        *) program=$i && return ;;\n"
    "        esac\n"
    "    done\n"
    "}\n"
    "\n"
    "_plimsoll()\n"
    "{\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}\n"
    "    local options='' valued='' words='' kinds='' program=0\n"
    "    COMPREPLY=()\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        _plimsoll_offer \"$_plimsoll_commands\" ''\n"
    "        return\n"
    "    fi\n"
    "    # In `--metric=live` the sign is a word of its own.\n"
    "    if [[ $cur == = ]]; then\n"
    "        cur=''\n"
    "    elif [[ $prev == = ]]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    _plimsoll_command \"$command\"\n"
    "    [[ $kinds != *programs* ]] || _plimsoll_find_program\n"
    "    if ((program && program < COMP_CWORD)); then\n"
    "        if declare -F _command_offset >/dev/null; then\n"
    "            _command_offset $program\n"
    "        else\n"
    "            _plimsoll_offer '' files\n"
    "        fi\n"
    "    elif ((program)); then\n"
    "        _plimsoll_offer '' programs\n"
    "    elif [[ $valued == *\" $prev \"* ]]; then\n"
    "        words='' kinds=''\n"
    "        _plimsoll_value \"$command $prev\"\n"
    "        _plimsoll_offer \"$words\" \"$kinds\"\n"
    "    elif [[ $cur == -* ]]; then\n"
    "        _plimsoll_offer \"$options\" ''\n"
    "    else\n"
    "        _plimsoll_offer \"$words\" \"$kinds\"\n"
    "    fi\n"
    "}\n"
    "\n"
    "complete -F _plimsoll plimsoll\n";

static void put_kinds(unsigned kinds)
{
    static const char *const names[] = {"files", "profiles", "directories", "processes", "programs"};
    const char *before = "";
    printf("kinds='");
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (!(kinds & 1u << i))
            continue;
        printf("%s%s", before, names[i]);
        before = " ";
    }
    printf("'");
}

static void bash_option(const struct pl_command *command, const struct pl_option *option)
{
    (void) command;
    if (option->letter)
        printf("-%c ", option->letter);
    printf("--%s ", option->name);
}

static void bash_valued(const struct pl_command *command, const struct pl_option *option)
{
    if (option->takes)
        bash_option(command, option);
}

static void bash_value(const struct pl_command *command, const struct pl_option *option)
{
    if (!option->takes)
        return;
    char *words = words_of_option(option);
    printf("    '%s --%s'", command->name, option->name);
    if (option->letter)
        printf(" | '%s -%c'", command->name, option->letter);
    printf(") words='%s' ", words);
    put_kinds(kinds_of_option(option));
    printf(" ;;\n");
    free(words);
}

static void bash_command(const struct pl_command *command)
{
    unsigned kinds = kinds_of_command(command);
    char *words = words_of_command(command, kinds);
    printf("    %s)\n        options='", command->name);
    each_option(command, bash_option);
    printf("'\n        valued=' ");
    each_option(command, bash_valued);
    printf("'\n        words='%s' ", words);
    put_kinds(kinds);
    printf("\n        ;;\n");
    free(words);
}

static void print_bash(void)
{
    char *commands = words_of_kinds(COMMANDS);
    printf("%s_plimsoll_commands='%s'\n\n", bash_head, commands);
    printf("# _plimsoll_command COMMAND: its options, those with a value, and the kinds of its arguments\n"
           "_plimsoll_command()\n{\n    case $1 in\n");
    for (size_t i = 0; pl_commands[i]; i++)
        bash_command(pl_commands[i]);
    printf("    esac\n}\n\n# _plimsoll_value 'COMMAND OPTION': the possible values\n"
           "_plimsoll_value()\n{\n    case $1 in\n");
    for (size_t i = 0; pl_commands[i]; i++)
        each_option(pl_commands[i], bash_value);
    printf("    esac\n}\n\n%s", bash_tail);
    free(commands);
}

/* --- zsh --- */

static const char zsh_head[] =
    "#compdef plimsoll\n"
    "# Completion of plimsoll for zsh. Printed by `plimsoll help --complete zsh`.\n"
    "\n"
    "__plimsoll_processes()\n"
    "{\n"
    "    local -a pids\n"
    "    pids=(${(f)\"$(_call_program processes plimsoll ls --no-header 2>/dev/null |\n"
    "        sed -n 's/^ *\\([0-9][0-9]*\\)  .*  running  .*/\\1/p')\"})\n"
    "    _wanted processes expl process compadd -a pids\n"
    "}\n"
    "\n"
    "__plimsoll_profiles()\n"
    "{\n"
    "    _files -g '*.plim'\n"
    "}\n"
    "\n"
    "__plimsoll_subjects()\n"
    "{\n"
    "    _alternative 'files:profile:__plimsoll_profiles' 'processes:process:__plimsoll_processes'\n"
    "}\n"
    "\n";

static const char zsh_tail[] = "_plimsoll()\n"
                               "{\n"
                               "    local curcontext=$curcontext state line\n"
                               "    _arguments -C '1:command:->command' '*::argument:->argument'\n"
                               "    case $state in\n"
                               "    command) _describe command __plimsoll_commands ;;\n"
                               "    argument) (( $+functions[__plimsoll-$words[1]] )) && __plimsoll-$words[1] ;;\n"
                               "    esac\n"
                               "}\n"
                               "\n"
                               "if [ \"$funcstack[1]\" = _plimsoll ]; then\n"
                               "    _plimsoll \"$@\"\n"
                               "else\n"
                               "    compdef _plimsoll plimsoll\n"
                               "fi\n";

/* Text between single quotes. Brackets and colons are special there and are escaped. */
static void zsh_text(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '\'') {
            printf("'\\''");
            continue;
        }
        if (strchr("[]:\\", text[i]))
            putchar('\\');
        putchar(text[i]);
    }
}

/* The help text up to its first semicolon or parenthesis. */
static void zsh_summary(const char *help)
{
    size_t bytes = strcspn(help, ";(");
    while (bytes && help[bytes - 1] == ' ')
        bytes--;
    zsh_text(help, bytes);
}

static void zsh_action(unsigned kinds, const char *words)
{
    static const struct {
        unsigned kinds;
        const char *action;
    } actions[] = {
        {FILES, "_files"},
        {PROFILES, "__plimsoll_profiles"},
        {DIRECTORIES, "_files -/"},
        {PROCESSES, "__plimsoll_processes"},
        {PROFILES | PROCESSES, "__plimsoll_subjects"},
    };
    if (*words) {
        printf("(%s)", words);
        return;
    }
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (actions[i].kinds == kinds)
            printf("%s", actions[i].action);
}

static void zsh_option(const struct pl_command *command, const struct pl_option *option)
{
    (void) command;
    const char *letter_sign = option->takes ? "+" : "", *name_sign = option->takes ? "=" : "";
    if (option->letter)
        printf(" \\\n        '(-%c --%s)'{-%c%s,--%s%s}'[", option->letter, option->name, option->letter, letter_sign,
               option->name, name_sign);
    else
        printf(" \\\n        '--%s%s[", option->name, name_sign);
    zsh_summary(option->help);
    printf("]");
    if (option->takes) {
        char *words = words_of_option(option);
        printf(":");
        zsh_text(option->takes, strlen(option->takes));
        printf(":");
        zsh_action(kinds_of_option(option), words);
        free(words);
    }
    printf("'");
}

static void zsh_arguments(const struct pl_command *command)
{
    unsigned kinds = kinds_of_command(command);
    char *words = words_of_command(command, kinds);
    if (kinds & PROGRAMS) {
        printf(" \\\n        '(-)1:program:_command_names -e' '*::argument:_normal'");
    } else if (kinds) {
        printf(" \\\n        '*:");
        zsh_text(command->arguments, strlen(command->arguments));
        printf(":");
        zsh_action(kinds, words);
        printf("'");
    }
    free(words);
}

static void zsh_command(const struct pl_command *command)
{
    bool program = kinds_of_command(command) & PROGRAMS; /* options after the program belong to it */
    printf("__plimsoll-%s()\n{\n    _arguments -s -S%s", command->name, program ? " -A '-*'" : "");
    each_option(command, zsh_option);
    zsh_arguments(command);
    printf("\n}\n\n");
}

static void print_zsh(void)
{
    printf("%stypeset -ga __plimsoll_commands=(\n", zsh_head);
    for (size_t i = 0; pl_commands[i]; i++) {
        printf("    '%s:", pl_commands[i]->name);
        zsh_text(pl_commands[i]->summary, strlen(pl_commands[i]->summary));
        printf("'\n");
    }
    printf(")\n\n");
    for (size_t i = 0; pl_commands[i]; i++)
        zsh_command(pl_commands[i]);
    printf("%s", zsh_tail);
}

/* --- shells --- */

const char *const pl_complete_shells[] = {"bash", "zsh", NULL};
static void (*const printers[])(void) = {print_bash, print_zsh};

void pl_complete_print(int shell)
{
    printers[shell]();
}
