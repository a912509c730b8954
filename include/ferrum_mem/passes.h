/*
 * Passes: change the definition of a model so that it runs faster or needs less memory.
 * A part of ferrum_mem.h, which programs include, and which has the rules that hold for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_PASSES_H
#define FERRUM_MEM_PASSES_H

#include "base.h"
#include "callbacks.h"
#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A build runs passes over the definition of its model, in an order that their dependencies
 * allow. The library has passes, and a program registers its own: functions that get the
 * definition as JSON and return a changed one. The option "passes" of a build names the
 * passes that run. The library checks each changed definition before it takes it, and
 * measures what the pass removed. docs/passes.md explains passes, and documents their results.
 *
 * The functions of a pass run on the thread of the call that runs it, with no lock held.
 * Several calls may run one pass at a time. A function may call every function of the
 * library except ferrum_shutdown. It must not leave by an exception or longjmp. A status
 * other than FERRUM_OK is the status of the call, whose message names the pass; a number that
 * is no status becomes FERRUM_ERROR_INTERNAL.
 */

/** Largest length of a definition that a pass gets or returns. */
#define FERRUM_DEFINITION_MAX 67108864
/** Largest number of dependencies of a pass. */
#define FERRUM_PASS_DEPENDENCIES_MAX 64
/** Size of the message of a failed function, with its closing NUL. */
#define FERRUM_PASS_MESSAGE_MAX 256
/** Largest size of a warning, with its closing NUL. */
#define FERRUM_PASS_WARNING_MAX 1024
/** Largest number of warnings of one run of a pass. */
#define FERRUM_PASS_WARNINGS_MAX 1000

/** Takes the changed definition. The library copies the text, and checks it after the
 *  function of the pass has returned. The last definition counts.
 *
 * @return FERRUM_ERROR_NULL_POINTER for the text; FERRUM_ERROR_INVALID_SIZE for a text that is
 *         longer than FERRUM_DEFINITION_MAX; FERRUM_ERROR_INVALID_HANDLE if the function that
 *         received the call has returned.
 */
typedef ferrum_status (*ferrum_pass_replace_fn)(uint64_t call,
                                                const char *definition_json,
                                                uint64_t definition_bytes);

/** Adds a warning to the result of the pass: what it could not do, and why.
 *
 * @return FERRUM_ERROR_NULL_POINTER for the text; FERRUM_ERROR_INVALID_ARGUMENT for a text that
 *         is not UTF-8 or not shorter than FERRUM_PASS_WARNING_MAX;
 *         FERRUM_ERROR_RESOURCE_EXHAUSTED after FERRUM_PASS_WARNINGS_MAX warnings;
 *         FERRUM_ERROR_INVALID_HANDLE as for replace.
 */
typedef ferrum_status (*ferrum_pass_warn_fn)(uint64_t call,
                                             const char *warning);

/** What a pass works on. Valid during the function that gets it.
 *  @by-hand go it has functions of the library
 *  @by-hand python,rust it is an object */
typedef struct ferrum_pass_call {
    uint32_t struct_size;
    uint32_t reserved;
    /** Its number, for replace and warn. */
    uint64_t call;
    /** The definition, as JSON with the fields of docs/model_definition.md. It is valid, and
     *  a NUL follows it. */
    const char *definition_json;
    /** Length of definition_json. */
    uint64_t definition_bytes;
    /** Takes the changed definition; has no effect in a ferrum_pass_is_applicable_fn. */
    ferrum_pass_replace_fn replace;
    /** Takes a warning; has no effect in a ferrum_pass_is_applicable_fn. */
    ferrum_pass_warn_fn warn;
    /** Has FERRUM_PASS_MESSAGE_MAX bytes. A function that fails may write UTF-8 text and a
     *  NUL, which becomes a part of the message. */
    char *message_out;
} ferrum_pass_call;

/* clang-format off */
#define FERRUM_PASS_CALL_INIT {FERRUM_SIZE_OF(ferrum_pass_call), 0, 0, NULL, 0, NULL, NULL, NULL}
/* clang-format on */

/**
 * Decides whether a pass has something to do in a definition.
 *
 * @param is_applicable_out  0 before the call: the pass is skipped. 1: it runs.
 * @return FERRUM_OK; an error, which ends the call that runs the pass.
 */
typedef ferrum_status (*ferrum_pass_is_applicable_fn)(
    const ferrum_pass_call *call, uint32_t *is_applicable_out, void *user_data);

/**
 * Runs a pass. If it calls replace, the definition changes; otherwise it stays.
 *
 * @return FERRUM_OK; an error, which ends the call that runs the pass.
 */
typedef ferrum_status (*ferrum_pass_apply_fn)(const ferrum_pass_call *call,
                                              void *user_data);

/** A pass of the program.
 *  @by-hand go it has functions of the caller
 *  @by-hand python the arguments of register_pass()
 *  @by-hand rust owns an object
 *  @go library.ProgramPass */
typedef struct ferrum_pass {
    uint32_t struct_size;
    /** Number of dependencies, at most FERRUM_PASS_DEPENDENCIES_MAX. */
    uint32_t dependency_count;
    /** Its name, 1 to 63 letters, digits, '_', '-' and '.'. No other pass has this name. */
    const char *name;
    /** The names of the passes that must have run before this one; NULL: none. */
    const char *const *dependencies;
    /** Decides whether it runs; NULL: always. */
    ferrum_pass_is_applicable_fn is_applicable;
    /** Runs it. */
    ferrum_pass_apply_fn apply;
    /** Called once when the registration has ended, and no function of the pass runs or will
     *  be called; NULL: not called. */
    ferrum_release_fn release;
    /** Passed to all functions. */
    void *user_data;
} ferrum_pass;

/* clang-format off */
#define FERRUM_PASS_INIT {FERRUM_SIZE_OF(ferrum_pass), 0, NULL, NULL, NULL, NULL, NULL, NULL}
/* clang-format on */

/**
 * Registers a pass of the program. The option "passes" of a build may name it from then on,
 * and ferrum_builder_info_json lists it. ferrum_registration_remove removes it, and returns
 * FERRUM_ERROR_BUSY while a call uses the pass. A forced ferrum_shutdown waits for its running
 * functions and removes it.
 *
 * @param pass  the call copies it and its texts. After an error release is not called.
 * @return FERRUM_ERROR_ALREADY_EXISTS for the name of another pass;
 *         FERRUM_ERROR_INVALID_ARGUMENT for another name that is not possible, and for such a
 *         dependency; FERRUM_ERROR_NULL_POINTER for apply. Whether the dependencies exist, and
 *         are without a cycle, is checked when passes run.
 *
 * @go executors.RegisterPass
 * @by-hand cpp its callables are objects of the program
 * @by-hand python,rust its callables are objects of the program
 */
FERRUM_API ferrum_status ferrum_pass_register(
    const ferrum_pass *pass, ferrum_registration *registration_out);

/**
 * Receives the result of ferrum_definition_optimize, on the thread of the call.
 *
 * @param result_json  an object with "definition", "passes" (the result of each pass in the
 *                order in which they ran) and "total". Valid during the call; a NUL follows it.
 */
typedef void (*ferrum_optimized_fn)(const char *result_json,
                                    uint64_t result_bytes, void *user_data);

/**
 * Runs passes over a definition. Nothing is built.
 *
 * @param definition_text,definition_bytes  as for ferrum_definition_validate_json.
 * @param passes_text  a JSON list of the names of the passes, such as ["fold_constants"];
 *                NULL: the passes of optimization_level 2.
 * @param passes_bytes  its length, at most FERRUM_WEIGHTS_JSON_MAX.
 * @param optimized  called once after a success. Not NULL.
 * @param user_data  passed to optimized.
 * @return FERRUM_ERROR_INVALID_FORMAT for the texts, and for a text that a pass returns;
 *         FERRUM_ERROR_INVALID_CONFIG for a definition with issues that stop a build, given
 *         or made by a pass, with the path of the first one; FERRUM_ERROR_MODEL for a pass that
 *         changes the inputs or outputs; FERRUM_ERROR_NOT_FOUND for a name without a pass, and
 *         for a dependency that is not in the list; FERRUM_ERROR_INVALID_ARGUMENT for
 *         dependencies in a cycle; FERRUM_ERROR_ALREADY_EXISTS for a name that occurs twice;
 *         errors of the passes.
 *
 * @optional passes_text
 * @by-hand go it hands on a function of the caller
 * @by-hand cpp,python,rust it hands on a function of the caller
 */
FERRUM_API ferrum_status
ferrum_definition_optimize(const char *definition_text, size_t definition_bytes,
                           const char *passes_text, size_t passes_bytes,
                           ferrum_optimized_fn optimized, void *user_data);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_PASSES_H */
