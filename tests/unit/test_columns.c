/* Text in columns: widths, runs of lines, what is remembered, and what no terminal gets to see. */
#include "tests/unit/test.h"

#include "base/cleanup.h"
#include "cli/columns.h"

static struct error err;

static const char *laid_out(struct columns *c, const char *text)
{
    static struct buf out = { .len_max = 1 << 20 };

    buf_clear(&out);
    buf_add_cstr(&c->text, text);
    ASSERT_OK(columns_flush(c, &out, &err));
    return buf_cstr(&out);
}

TEST(layouts_of_descriptions)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        { "", "" },
        { "plain\n", "plain\n" },
        { "plain", "plain\n" },
        { "a:\t1\nlonger:\t2\n", "a:       1\nlonger:  2\n" },
        /* a line without a cell there begins another column */
        { "a:\t1\nbare\nlonger:\t2\n", "a:  1\nbare\nlonger:  2\n" },
        /* what the last cell holds moves nothing */
        { "a:\tvery long\nb:\tx\n", "a:  very long\nb:  x\n" },
        /* an empty last cell: the one before it is padded */
        { "a:\tb\t\n", "a:  b  \n" },
        { "a:\t\nb:\tc\n", "a:  \nb:  c\n" },
        { "\tx\nab\ty\n", "    x\nab  y\n" },
        { "a\tb\tc\nd\te\n", "a  b  c\nd  e\n" },
        { "\n\n", "\n\n" },
        /* characters are counted, not bytes */
        { "\xC3\xA4\tx\nab\ty\n", "\xC3\xA4   x\nab  y\n" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(columns_done_p) struct columns c;

        columns_init_text(&c);
        ASSERT_STR(rows[i].expected, laid_out(&c, rows[i].text));
    }
}

TEST(tables_have_their_least_width)
{
    _cleanup_(columns_done_p) struct columns c;

    columns_init_table(&c);
    ASSERT_STR("A     B     C\n1     2     3\n", laid_out(&c, "A\tB\tC\n1\t2\t3\n"));
}

TEST(tables_remember_their_widths)
{
    _cleanup_(columns_done_p) struct columns c;

    columns_init_table(&c);
    ASSERT_STR("long-name   x\n", laid_out(&c, "long-name\tx\n"));
    ASSERT_STR("a           y\n", laid_out(&c, "a\ty\n"));
    ASSERT_STR("longer-still   z\n", laid_out(&c, "longer-still\tz\n"));
    ASSERT_STR("b              w\n", laid_out(&c, "b\tw\n"));
}

TEST(cells_are_harmless)
{
    static const struct {
        const char *text, *cell, *lines;
    } rows[] = {
        { "plain", "plain\n", "plain\n" },        { "\x1b[31mred", "^[[31mred\n", "^[[31mred\n" },
        { "one\ntwo", "one...\n", "one\ntwo\n" }, { "one\rtwo", "one...\n", "onetwo\n" },
        { "bell\x07", "bell?\n", "bell?\n" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(columns_done_p) struct columns c;

        columns_init_text(&c);
        columns_add_cell(&c, str_of(rows[i].text));
        ASSERT_STR(rows[i].cell, laid_out(&c, ""));
        columns_add_text(&c, str_of(rows[i].text));
        ASSERT_STR(rows[i].lines, laid_out(&c, ""));
    }
}

/* More tabs than there may be columns: the rest is text. */
TEST(cells_are_bounded)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1 << 20);
    _cleanup_(columns_done_p) struct columns c;
    const char *out;
    size_t tabs = 0;

    columns_init_text(&c);
    for (int i = 0; i < 1000; i++)
        buf_add_cstr(&text, "x\t");
    out = laid_out(&c, buf_cstr(&text));
    for (; *out; out++)
        tabs += *out == '\t';
    ASSERT_INT(1000 - (COLUMNS_CELLS_MAX - 1), tabs);
}

static const char *paint(size_t line, struct str cell)
{
    return line == 0 ? "<h>" : str_is(cell, "Bound") ? "<g>" : NULL;
}

TEST(colours_take_no_room)
{
    _cleanup_(columns_done_p) struct columns c;

    columns_init_table(&c);
    c.paint = paint;
    ASSERT_STR("<h>NAME\x1b[0m   <h>STATUS\x1b[0m   <h>AGE\x1b[0m\na      <g>Bound\x1b[0m    1s\n",
               laid_out(&c, "NAME\tSTATUS\tAGE\na\tBound\t1s\n"));
    /* the first line is the first of all */
    ASSERT_STR("b      <g>Bound\x1b[0m    2s\n", laid_out(&c, "b\tBound\t2s\n"));
}

TEST(width_of_the_widest_line)
{
    _cleanup_(columns_done_p) struct columns c;

    columns_init_table(&c);
    ASSERT_INT(0, columns_width(&c));
    buf_add_cstr(&c.text, "NAME\tX\nlonger-name\tyy\n");
    ASSERT_INT(11 + 3 + 2, columns_width(&c));
    c.padding = 2;
    ASSERT_INT(11 + 2 + 2, columns_width(&c));
}

TEST_MAIN()
