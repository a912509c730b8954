/* The functions of the header as tables, from which test_arguments.c makes bad
 * arguments. The tables are generated (arguments_*_gen.c). */
#ifndef FERRUM_TESTS_ARGUMENTS_H
#define FERRUM_TESTS_ARGUMENTS_H

#include <stddef.h>

#include "arguments_gen.h"
#include "fixture.h"

typedef void (*any_function)(void);

/** What is handed for one parameter; its role says which of them. */
typedef struct {
    uint64_t number;
    double real;
    void *pointer;
    any_function function;
} argument;

/** What a parameter, or a field of a struct, is. */
typedef enum {
    ROLE_VALUE,       /**< a number of which nothing more is known */
    ROLE_TRUTH,       /**< 0 or 1 */
    ROLE_FLAGS,       /**< a sum of flags; 0 is one */
    ROLE_ENUMERATION, /**< 0 is one of its values */
    ROLE_RESERVED,    /**< a field that must be 0 */
    ROLE_LIST,        /**< a field that points to an array */
    ROLE_HANDLE,
    ROLE_TEXT,       /**< that comes in: UTF-8 of a bounded length */
    ROLE_STRUCT_IN,  /**< of the caller, with or without struct_size */
    ROLE_BYTES,      /**< in either direction; their number follows */
    ROLE_ARRAY,      /**< that comes in; the number of its elements follows */
    ROLE_TEXTS,      /**< that come in; their number follows */
    ROLE_CALLBACK,   /**< its user_data follows */
    ROLE_DATA,       /**< the user_data of a callback */
    ROLE_OUT,        /**< zeroed as a whole */
    ROLE_STRUCT_OUT, /**< zeroed after struct_size */
    ROLE_BUFFER,     /**< of a text: made empty; its capacity follows */
    ROLE_PLACES,     /**< of an array: left alone; their number follows */
    ROLE_CAPACITY    /**< of the buffer or the places before it */
} role;

typedef struct {
    const char *name;
    size_t offset, size;
    role role;
    enum kind kind; /**< of a handle */
    int is_optional;
    int64_t unknown[2]; /**< of an enumeration: no values of it */
} struct_field;

typedef struct {
    size_t size;
    const void *init; /**< NULL: without struct_size, and zeros are its start */
    const struct_field *fields;
    size_t field_count;
} struct_type;

typedef struct {
    const char *name;
    role role;
    enum kind kind;          /**< of a handle */
    size_t size;             /**< of what is written; of an element */
    const struct_type *type; /**< of a struct */
    any_function nothing;    /**< for a callback: one that does nothing */
    int64_t unknown[2];      /**< of an enumeration: no values of it */
    int is_optional;
} parameter;

typedef struct {
    const char *name;
    ferrum_status (*call)(const argument *arguments);
    const parameter *parameters;
    size_t count;
    int waits;        /**< refused in a host function */
    int is_stateless; /**< works without ferrum_init */
    int is_always;    /**< works also in a forked child */
} function;

/** Rows of the tables; what follows the names is given by its own name. */
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

/** The functions of each family that return a status; the last row has no name. */
#define ARGUMENTS_DECLARE(family) extern const function arguments_##family[];
ARGUMENTS_FAMILIES(ARGUMENTS_DECLARE)
#undef ARGUMENTS_DECLARE

#endif
