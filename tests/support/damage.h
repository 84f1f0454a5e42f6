// damage.h — for tests of the checkers fr_..._is_sound.
#ifndef FR_TEST_DAMAGE_H
#define FR_TEST_DAMAGE_H

// Gives a field a value that must not be: `is_sound` is then false. It is true with what was there
// before, which is put back.
#define assert_noticed(field, value, is_sound)                                                     \
    do {                                                                                           \
        __typeof__(field) before_ = (field);                                                       \
        assert_true(is_sound);                                                                     \
        (field) = (value);                                                                         \
        assert_false(is_sound);                                                                    \
        (field) = before_;                                                                         \
        assert_true(is_sound);                                                                     \
    } while (0)

#endif
