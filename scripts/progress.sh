# Sourced by scripts/deps and scripts/build. Shows the progress of a long step on standard error: on a terminal
# in one line that is overwritten, otherwise in one line per 25 %.

progress_shown=

# progress TITLE PERCENT
progress() {
    if [ -t 2 ]; then
        if [ "$1 $2" != "$progress_shown" ]; then
            printf '\r%s… %d%%' "$1" "$2" >&2
            progress_shown="$1 $2"
        fi
    elif [ "$1 $(($2 / 25))" != "$progress_shown" ]; then
        printf '%s… %d%%\n' "$1" "$2" >&2
        progress_shown="$1 $(($2 / 25))"
    fi
}

# Ends the progress line so that other output starts on a new line.
progress_end() {
    if [ -t 2 ] && [ -n "$progress_shown" ]; then
        echo >&2
    fi
    progress_shown=
}
