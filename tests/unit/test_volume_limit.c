/* The names of limits: resources of a Node, whatever a driver is called. */
#include "tests/unit/test.h"

#include "api/names.h"
#include "api/volume_limit.h"
#include "base/cleanup.h"

static struct error err;

TEST(volume_limit_keys_are_names_of_resources)
{
    static const struct {
        const char *driver;
        const char *key;
    } rows[] = {
        { "acme/disk", "attachable-volumes-flex-acme_disk" },
        { "disk", "attachable-volumes-flex-disk" },
        { "a23456789/b23456789c23456789d23456789",
          "attachable-volumes-flex-a23456789_b23456789c23456789d23456789" },
    };
    char key[VOLUME_LIMIT_KEY_BYTES], other[VOLUME_LIMIT_KEY_BYTES];
    struct name_problems problems;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_OK(volume_limit_key(rows[i].driver, key, &err));
        assert_true(name_check(NAME_QUALIFIED, str_of(key), &problems));
        ASSERT_STR(rows[i].key, key);
    }
    /* Of long names, what is cut off counts too. */
    ASSERT_OK(volume_limit_key("vendor.example.com/a-driver-with-a-very-long-name-1", key, &err));
    ASSERT_OK(volume_limit_key("vendor.example.com/a-driver-with-a-very-long-name-2", other, &err));
    assert_int_equal(VOLUME_LIMIT_KEY_BYTES - 1, strlen(key));
    assert_memory_equal("attachable-volumes-flex-vendor.example.com_a-dri", key, 47);
    assert_string_not_equal(key, other);
}

TEST_MAIN()
