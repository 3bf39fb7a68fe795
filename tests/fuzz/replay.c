/* Runs a fuzz target over files and directories of saved inputs, as a plain test that speaks TAP.
 *
 * Each input is a malloc'd block of just its size, so that a sanitizer sees a read past its end. Inputs run
 * in the order of their names, after the empty one; the name of each is printed first: after a crash the last
 * is to blame. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

static unsigned inputs_run;

static void die(const char *what, const char *path)
{
    printf("Bail out! cannot %s '%s'\n", what, path);
    exit(1);
}

static void replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat st;

    printf("# %s\n", path);
    if (!file || fstat(fileno(file), &st) < 0)
        die("open", path);
    size_t size = (size_t)st.st_size;
    uint8_t *data = malloc(size);
    if (size && (!data || fread(data, 1, size, file) != size))
        die("read", path);
    (void)fclose(file); /* only read from */
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    inputs_run++;
}

static void replay_path(const char *path)
{
    struct dirent **entries;
    struct stat st;
    int count;

    if (stat(path, &st) < 0)
        die("find", path);
    if (!S_ISDIR(st.st_mode)) {
        replay_file(path);
        return;
    }
    count = scandir(path, &entries, NULL, alphasort);
    if (count < 0)
        die("list", path);
    for (int i = 0; i < count; i++) {
        _cleanup_(freep) char *child = NULL;
        if (asprintf(&child, "%s/%s", path, entries[i]->d_name) < 0)
            abort();
        if (entries[i]->d_name[0] != '.')
            replay_file(child);
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* what was said before a crash should be seen */
    printf("1..1\n# the empty input\n");
    LLVMFuzzerTestOneInput(NULL, 0);
    for (int i = 1; i < argc; i++)
        replay_path(argv[i]);
    if (inputs_run == 0)
        die("find an input in", argc > 1 ? argv[1] : "no path given");
    printf("ok 1 - replays %u saved inputs\n", inputs_run);
    return 0;
}
