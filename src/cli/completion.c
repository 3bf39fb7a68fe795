/* `berth completion`: prints a completion script for a shell.
 *
 * The scripts contain the verbs and flags of the tables, so that completing those runs no process. For
 * everything else they call `berth __complete` (complete.h) and offer what it prints. Only help texts and
 * names of this program go into a script; they are quoted all the same. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/flags.h"

/* Prints the text in single quotes: in fish a quote inside is escaped, elsewhere the quotes are closed and
 * reopened around it. In zsh ':' separates a word from its description. */
static void print_quoted(const char *text, const char *quote, bool escapes_colons)
{
    for (const char *c = text; *c; c++) {
        if (*c == '\'')
            printf("%s", quote);
        else if (*c == ':' && escapes_colons)
            printf("\\:");
        else
            putchar(*c);
    }
}

static bool has_flags(const struct cli_verb *v)
{
    return v->flags && v->flags->name;
}

/* --- bash --- */

/* bash splits words at '=' and ':', too: the script joins them again, and removes the part before the last
 * such split from the candidates. */
static const char bash_head[] = "# Completion of berth's commands for bash: source it, or put it into\n"
                                "# /usr/share/bash-completion/completions/berth.\n"
                                "_berth() {\n"
                                "    local cursor word rest line cut flags i\n"
                                "    local -a words=()\n"
                                "    COMPREPLY=()\n"
                                "    rest=$COMP_LINE\n"
                                "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
                                "        word=${COMP_WORDS[i]}\n"
                                "        if ((i == 0)) || [[ $rest == [[:space:]]* ]]; then\n"
                                "            words+=(\"$word\")\n"
                                "        else\n"
                                "            words[${#words[@]} - 1]+=$word\n"
                                "        fi\n"
                                "        rest=${rest#\"${rest%%[![:space:]]*}\"}\n"
                                "        rest=${rest#\"$word\"}\n"
                                "    done\n"
                                "    for i in \"${!words[@]}\"; do\n"
                                "        words[i]=${words[i]/#\\~\\//$HOME/}\n"
                                "    done\n"
                                "    cursor=${words[${#words[@]} - 1]}\n"
                                "    cut=\n"
                                "    if [[ $COMP_WORDBREAKS == *[=:]* && $cursor == *[=:]* ]]; then\n"
                                "        cut=${cursor%\"${cursor##*[=:]}\"}\n"
                                "    fi\n";

static const char bash_tail[] = "    while IFS=$'\\t' read -r line _; do\n"
                                "        case $line in\n"
                                "        :files | :dirs)\n"
                                "            i=-f\n"
                                "            [[ $line == :dirs ]] && i=-d\n"
                                "            [[ $cursor == --*=* ]] && cursor=${cursor#*=}\n"
                                "            compopt -o filenames 2>/dev/null\n"
                                "            mapfile -t COMPREPLY < <(compgen \"$i\" -- \"$cursor\")\n"
                                "            return\n"
                                "            ;;\n"
                                "        *) COMPREPLY+=(\"${line#\"$cut\"}\") ;;\n"
                                "        esac\n"
                                "    done < <(\"${words[0]}\" __complete -- \"${words[@]:1}\" 2>/dev/null)\n"
                                "    if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *[/=] ]]; then\n"
                                "        compopt -o nospace 2>/dev/null\n"
                                "    fi\n"
                                "}\n"
                                "complete -F _berth berth\n";

static void print_bash(void)
{
    printf("%s", bash_head);
    printf("    if ((${#words[@]} == 2)); then\n"
           "        mapfile -t COMPREPLY < <(compgen -W '");
    for (size_t i = 0; cli_verbs[i]; i++)
        printf("%s%s", i ? " " : "", cli_verbs[i]->name);
    printf(" --help --version' -- \"$cursor\")\n"
           "        return\n"
           "    fi\n"
           "    if [[ $cursor == -* && $cursor != *=* ]]; then\n"
           "        flags=--help\n"
           "        case ${words[1]} in\n");
    for (size_t i = 0; cli_verbs[i]; i++) {
        if (!has_flags(cli_verbs[i]))
            continue;
        printf("        %s) flags+='", cli_verbs[i]->name);
        for (const struct flag *f = cli_verbs[i]->flags; f->name; f++) {
            printf(" --%s", f->name);
            if (f->letter)
                printf(" -%c", f->letter);
        }
        printf("' ;;\n");
    }
    printf("        esac\n"
           "        mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$cursor\")\n"
           "        return\n"
           "    fi\n%s",
           bash_tail);
}

/* --- zsh --- */

static const char zsh_tail[] = "    for line in \"${(@f)$(${words[1]/#\\~\\//$HOME/} __complete -- "
                               "\"${(@)words[2,CURRENT]}\" 2>/dev/null)}\"; do\n"
                               "        value=${line%%$'\\t'*} about=${line#*$'\\t'}\n"
                               "        case $value in\n"
                               "        '') ;;\n"
                               "        :files) compset -P '--*='; _files; return ;;\n"
                               "        :dirs) compset -P '--*='; _files -/; return ;;\n"
                               "        *[/=]) open+=(\"${value//:/\\\\:}:$about\") ;;\n"
                               "        *) closed+=(\"${value//:/\\\\:}:$about\") ;;\n"
                               "        esac\n"
                               "    done\n"
                               "    (($#closed)) && _describe -t arguments argument closed\n"
                               "    (($#open)) && _describe -t arguments argument open -S ''\n"
                               "    (($#closed + $#open))\n"
                               "}\n"
                               "\n"
                               "if [[ $funcstack[1] == _berth ]]; then\n"
                               "    _berth \"$@\"\n"
                               "else\n"
                               "    compdef _berth berth\n"
                               "fi\n";

static void print_zsh_entry(const char *dashes, const char *word, const char *about)
{
    printf(" \\\n            '%s%s:", dashes, word);
    print_quoted(about, "'\\''", /* escapes_colons= */ true);
    printf("'");
}

static void print_zsh_flags(const struct cli_verb *v)
{
    printf("        %s) closed+=(", v->name);
    for (const struct flag *f = v->flags; f->name; f++) {
        const char letter[2] = { f->letter, '\0' };

        print_zsh_entry("--", f->name, f->help);
        if (f->letter)
            print_zsh_entry("-", letter, f->help);
    }
    printf(") ;;\n");
}

static void print_zsh(void)
{
    printf("#compdef berth\n"
           "# Completion of berth's commands for zsh: as _berth in a directory of $fpath, or sourced after "
           "compinit.\n"
           "_berth() {\n"
           "    local line value about\n"
           "    local -a closed open\n"
           "    if ((CURRENT == 2)); then\n"
           "        closed=(");
    for (size_t i = 0; cli_verbs[i]; i++)
        print_zsh_entry("", cli_verbs[i]->name, cli_verbs[i]->summary);
    printf(")\n"
           "        _describe -t commands 'berth command' closed\n"
           "        return\n"
           "    fi\n"
           "    if [[ $PREFIX == -* && $PREFIX != *=* ]]; then\n"
           "        closed=('--help:explain the command')\n"
           "        case $words[2] in\n");
    for (size_t i = 0; cli_verbs[i]; i++)
        if (has_flags(cli_verbs[i]))
            print_zsh_flags(cli_verbs[i]);
    printf("        esac\n"
           "        _describe -t options option closed\n"
           "        return\n"
           "    fi\n%s",
           zsh_tail);
}

/* --- fish --- */

/* fish expects only the value, wherever it is, and descriptions after a tab. */
static const char fish_head[] =
    "# Completion of berth's commands for fish: source it, or put it into\n"
    "# /usr/share/fish/vendor_completions.d/berth.fish.\n"
    "function __berth_live\n"
    "    set -l words (commandline -opc) (commandline -ct)\n"
    "    set -l lines ($words[1] __complete -- $words[2..-1] 2>/dev/null)\n"
    "    switch \"$lines[1]\"\n"
    "        case ':files'\n"
    "            __fish_complete_path (commandline -ct | string replace -r -- '^--[^=]*=' '')\n"
    "        case ':dirs'\n"
    "            __fish_complete_directories (commandline -ct | string replace -r -- '^--[^=]*=' '')\n"
    "        case '*'\n"
    "            string replace -r -- '^--[^=]*=' '' $lines\n"
    "    end\n"
    "end\n"
    "\n"
    "complete -c berth -f\n"
    "complete -c berth -n 'not __fish_use_subcommand' -a '(__berth_live)'\n";

static void print_fish_flag(const struct cli_verb *v, const struct flag *f)
{
    printf("complete -c berth -n '__fish_seen_subcommand_from %s' -l %s", v->name, f->name);
    if (f->letter)
        printf(" -s %c", f->letter);
    if (flag_needs_value(f))
        printf(" -x");
    if (f->type != FLAG_SWITCH)
        printf(" -a '(__berth_live)'");
    printf(" -d '");
    print_quoted(f->help, "\\'", /* escapes_colons= */ false);
    printf("'\n");
}

static void print_fish(void)
{
    printf("%s", fish_head);
    for (size_t i = 0; cli_verbs[i]; i++) {
        printf("complete -c berth -n __fish_use_subcommand -a %s -d '", cli_verbs[i]->name);
        print_quoted(cli_verbs[i]->summary, "\\'", /* escapes_colons= */ false);
        printf("'\n");
        for (const struct flag *f = cli_verbs[i]->flags; f && f->name; f++)
            print_fish_flag(cli_verbs[i], f);
    }
}

/* --- The verb --- */

static const struct {
    const char *name;
    void (*print)(void);
} shells[] = {
    { "bash", print_bash },
    { "zsh", print_zsh },
    { "fish", print_fish },
};

static int completion_run(const struct cli_verb *verb, int argc, char **argv)
{
    int status = cli_check_args(verb, argc, argv, /* args_max= */ 1);

    if (status != CLI_OK)
        return status;
    for (size_t i = 0; i < ARRAY_LEN(shells) && argc == 2; i++)
        if (strcmp(argv[1], shells[i].name) == 0) {
            shells[i].print();
            return CLI_OK;
        }
    return cli_fail_usage("completion: specify a shell: bash, zsh or fish");
}

const struct cli_verb cli_verb_completion = {
    .name = "completion",
    .group = CLI_TOOLS,
    .usage = "completion bash|zsh|fish",
    .summary = "Print a shell script that completes commands, flags and object names",
    .examples =
        "  source <(berth completion bash)  # in ~/.bashrc\n  source <(berth completion zsh)   # in "
        "~/.zshrc, after compinit\n  berth completion fish | source   # in ~/.config/fish/config.fish\n",
    .args = "bash zsh fish",
    .run = completion_run,
};
