/* The functions of the header as tables, from which test_arguments.c
 * creates bad arguments. The tables are generated (arguments_*_gen.c). */
#ifndef FERRUM_TESTS_ARGUMENTS_H
#define FERRUM_TESTS_ARGUMENTS_H

#include <stddef.h>

#include "arguments_gen.h"
#include "fixture.h"

typedef void (*any_function)(void);

/** The value that is passed for one parameter. The role states which member
 *  is used. */
typedef struct {
    uint64_t number;
    double real;
    void *pointer;
    any_function function;
} argument;

/** The kind of a parameter, or of a field of a struct. */
typedef enum {
    ROLE_VALUE,       /**< a number without a known meaning */
    ROLE_TRUTH,       /**< 0 or 1 */
    ROLE_FLAGS,       /**< a sum of flags; 0 is valid */
    ROLE_ENUMERATION, /**< an enumeration; 0 is a valid value */
    ROLE_RESERVED,    /**< a field that must be 0 */
    ROLE_LIST,        /**< a field that points to an array */
    ROLE_HANDLE,
    ROLE_TEXT,       /**< input: UTF-8 of a bounded length */
    ROLE_STRUCT_IN,  /**< input, with or without struct_size */
    ROLE_BYTES,      /**< input or output; the number of bytes follows */
    ROLE_ARRAY,      /**< input; the number of its elements follows */
    ROLE_TEXTS,      /**< input; their number follows */
    ROLE_CALLBACK,   /**< its user_data follows */
    ROLE_DATA,       /**< the user_data of a callback */
    ROLE_OUT,        /**< zeroed completely */
    ROLE_STRUCT_OUT, /**< zeroed after struct_size */
    ROLE_BUFFER,     /**< an output text: made empty; its capacity follows */
    ROLE_PLACES,     /**< an output array: not changed; its number follows */
    ROLE_CAPACITY    /**< the capacity of the buffer or array before it */
} role;

typedef struct {
    const char *name;
    size_t offset, size;
    role role;
    enum kind kind; /**< for a handle */
    int is_optional;
    int64_t unknown[2]; /**< for an enumeration: invalid values */
} struct_field;

typedef struct {
    size_t size;
    const void *init; /**< NULL: no struct_size, and it starts as zeros */
    const struct_field *fields;
    size_t field_count;
} struct_type;

typedef struct {
    const char *name;
    role role;
    enum kind kind;          /**< for a handle */
    size_t size;             /**< of an output; of an element */
    const struct_type *type; /**< for a struct */
    any_function nothing; /**< for a callback: a function that does nothing */
    int64_t unknown[2];   /**< for an enumeration: invalid values */
    int is_optional;
} parameter;

typedef struct {
    const char *name;
    ferrum_status (*call)(const argument *arguments);
    const parameter *parameters;
    size_t count;
    int waits;        /**< rejected in a host function */
    int is_stateless; /**< works without ferrum_init */
    int is_always;    /**< also works in a forked child */
} function;

/** Rows of the tables. The values after the names are given by field name. */
#define FIELD(type, field, what, ...)    \
    {.name = #field,                     \
     .offset = offsetof(type, field),    \
     .size = sizeof(((type *)0)->field), \
     .role = ROLE_##what,                \
     __VA_ARGS__}
#define PARAMETER(parameter, what, ...) \
    {.name = #parameter, .role = ROLE_##what, __VA_ARGS__}
#define FUNCTION(function, ...) \
    {.name = "ferrum_" #function, .call = call_##function, __VA_ARGS__}

/** The functions of each family that return a status. The last row has no
 *  name. */
#define ARGUMENTS_DECLARE(family) extern const function arguments_##family[];
ARGUMENTS_FAMILIES(ARGUMENTS_DECLARE)
#undef ARGUMENTS_DECLARE

#endif
