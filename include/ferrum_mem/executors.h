/*
 * Executors: build a model from its files, plan its memory, run it, and put it to sleep.
 * A part of ferrum_mem.h, which programs include, and which has the rules that hold for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_EXECUTORS_H
#define FERRUM_MEM_EXECUTORS_H

#include "base.h"
#include "callbacks.h"
#include "compute.h"
#include "elastic.h"
#include "sleep.h"
#include "tensor.h"
#include "weights.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A model is a folder with a config.json and weights, a GGUF file, a file of ONNX, or a
 * definition. A definition is a JSON text with the parameters of a model and the graph of its operations.
 * A build makes an executor: the parameters are in one model of an elastic pool, and the
 * activations of a run are in one arena there, with an offset for each. docs/models.md
 * explains builds, and documents all JSON texts of this section except the definition, which
 * docs/model_definition.md documents.
 */

/** A built model that can run. ferrum_leak_report_json shows the handle of a model from the
 *  beginning of its build. Until the build has ended, every function returns
 *  FERRUM_ERROR_BUSY for this handle.
 *  @go executors.Executor */
typedef struct ferrum_executor {
    uint64_t id; /**< 0 is no executor */
} ferrum_executor;

/** Largest number of inputs, and of outputs, of a run of an executor. */
#define FERRUM_EXECUTOR_TENSORS_MAX 1024

/**
 * Returns the definition of the model in a folder or a file, as JSON.
 *
 * @param path  a folder with config.json, a GGUF file, or a file of ONNX.
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 * @return FERRUM_ERROR_NOT_FOUND and FERRUM_ERROR_IO for a file;
 *         FERRUM_ERROR_INVALID_FORMAT for its content; FERRUM_ERROR_UNSUPPORTED for a kind
 *         of model that the library cannot build, with its name.
 *
 * @path path
 * @go executors.ExportJSON
 */
FERRUM_API ferrum_status ferrum_model_export_json(const char *path,
                                                  char *buffer, size_t capacity,
                                                  size_t *length_out);

/** The elements of the tensors are in a second file, whose name is that of the model with the
 *  ending ".data". Models above 2 GiB always have it. */
#define FERRUM_ONNX_EXTERNAL 1u
/** Files that exist are replaced. */
#define FERRUM_ONNX_REPLACE 2u

/**
 * Writes the model in a folder or a file as a file of ONNX. docs/onnx.md describes it. The
 * file gets its name at the end: after an error no new file exists.
 *
 * @param path  as for ferrum_model_export_json.
 * @param file  the file to be written.
 * @param flags  0 or FERRUM_ONNX_* flags.
 * @return FERRUM_ERROR_ALREADY_EXISTS without FERRUM_ONNX_REPLACE;
 *         FERRUM_ERROR_UNSUPPORTED for what ONNX does not have, with its name;
 *         FERRUM_ERROR_RESOURCE_EXHAUSTED for a disk without enough free space; errors of
 *         ferrum_model_export_json.
 *
 * @path path
 * @path file
 * @flags flags FERRUM_ONNX
 * @waits
 * @go executors.ExportONNX
 */
FERRUM_API ferrum_status ferrum_model_export_onnx(const char *path,
                                                  const char *file,
                                                  uint32_t flags);

/**
 * Writes a definition as a file of ONNX.
 *
 * @param definition_text,definition_bytes  as for ferrum_definition_validate_json.
 * @param weights  the tensors of the definition; {0}: its parameters are initialised as it
 *                 states.
 * @param file,flags  as for ferrum_model_export_onnx.
 * @return FERRUM_ERROR_INVALID_FORMAT for a text that is no definition;
 *         FERRUM_ERROR_INVALID_CONFIG for a definition with issues that stop a build; errors
 *         of ferrum_model_export_onnx.
 *
 * @path file
 * @optional weights
 * @flags flags FERRUM_ONNX
 * @waits
 * @go executors.ExportDefinitionONNX
 * @by-hand python,rust its weights are optional
 */
FERRUM_API ferrum_status ferrum_definition_export_onnx(
    const char *definition_text, size_t definition_bytes,
    ferrum_weights weights, const char *file, uint32_t flags);

/**
 * Checks the model in a folder or a file without building it, and returns the issues as
 * JSON. Warnings let a build go on; issues of the severity error or critical stop it.
 *
 * @param path  as for ferrum_model_export_json.
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 * @return FERRUM_ERROR_NOT_FOUND and FERRUM_ERROR_IO for a file that cannot be read. What
 *         is wrong with the model is an issue, and the call succeeds.
 *
 * @path path
 * @go executors.ValidateModelJSON
 */
FERRUM_API ferrum_status ferrum_model_validate_json(const char *path,
                                                    char *buffer,
                                                    size_t capacity,
                                                    size_t *length_out);

/**
 * Checks a definition, and returns the issues as JSON.
 *
 * @param definition_text  the definition.
 * @param definition_bytes  its length, at most FERRUM_WEIGHTS_JSON_MAX.
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 * @return FERRUM_ERROR_INVALID_FORMAT for a text that is no definition.
 *
 * @go executors.ValidateDefinitionJSON
 */
FERRUM_API ferrum_status ferrum_definition_validate_json(
    const char *definition_text, size_t definition_bytes, char *buffer,
    size_t capacity, size_t *length_out);

/**
 * Returns what the library can build, as JSON: architectures, formats of weights,
 * optimizations and capabilities.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 *
 * @go executors.BuilderInfoJSON
 */
FERRUM_API ferrum_status ferrum_builder_info_json(char *buffer, size_t capacity,
                                                  size_t *length_out);

/**
 * Estimates how long the build of a definition takes on this machine, as JSON. Earlier
 * builds of the process make the estimate better.
 *
 * @param definition_text,definition_bytes  as for ferrum_definition_validate_json.
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 * @return FERRUM_ERROR_INVALID_FORMAT for a text that is no definition.
 *
 * @go executors.EstimateJSON
 */
FERRUM_API ferrum_status ferrum_build_estimate_json(const char *definition_text,
                                                    size_t definition_bytes,
                                                    char *buffer,
                                                    size_t capacity,
                                                    size_t *length_out);

/**
 * Returns the memory of the activations of a definition on a backend for given lengths of its
 * dimensions, as JSON, without building it.
 *
 * @param definition_text,definition_bytes  as for ferrum_definition_validate_json.
 * @param optimization_level  0 to 3, as in the options of a build.
 * @param dimensions_text,dimensions_bytes  as for ferrum_executor_plan_json.
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 * @return FERRUM_ERROR_INVALID_FORMAT for the texts; FERRUM_ERROR_INVALID_CONFIG for a
 *         definition with issues that stop a build; errors of ferrum_executor_plan_json.
 *
 * @go executors.PlanJSON
 * @by-hand python,rust its class is written by hand
 */
FERRUM_API ferrum_status
ferrum_compute_plan_json(ferrum_compute compute, const char *definition_text,
                         size_t definition_bytes, uint32_t optimization_level,
                         const char *dimensions_text, size_t dimensions_bytes,
                         char *buffer, size_t capacity, size_t *length_out);

/** A phase of a build. The phases follow each other in this order.
 *  @go model.Phase */
typedef int32_t ferrum_build_phase;
/** The configuration and the definition are checked. */
#define FERRUM_BUILD_VALIDATION 0
/** The headers of the weights, and their bytes, are read. */
#define FERRUM_BUILD_WEIGHT_LOADING 1
/** The model gets its place in the elastic pool. */
#define FERRUM_BUILD_MODEL_INITIALIZATION 2
/** The operations are prepared. */
#define FERRUM_BUILD_LAYER_CONSTRUCTION 3
/** The parameters are connected with tensors of the weights. */
#define FERRUM_BUILD_PARAMETER_BINDING 4
/** Passes run, and the parameters are placed and packed. */
#define FERRUM_BUILD_OPTIMIZATION 5
/** The model runs once. */
#define FERRUM_BUILD_FINAL_VALIDATION 6
/** What only the build needed is released. */
#define FERRUM_BUILD_FINALIZATION 7

/** The progress of a build.
 *  @by-hand go its text is short-lived
 *  @by-hand python,rust its text is short-lived */
typedef struct ferrum_build_progress {
    uint32_t struct_size;
    /** The phase. */
    ferrum_build_phase phase;
    /** The part that is done, 0 to 1. It never decreases; the last call of a successful
     *  build has 1. */
    double progress;
    /** Seconds since the beginning. */
    double elapsed_seconds;
    /** The estimate of the remaining seconds; less than 0: not known. */
    double remaining_seconds;
    /** Bytes of the phase that are done. */
    uint64_t done_bytes;
    /** Bytes of the phase; 0 for a phase without bytes. */
    uint64_t total_bytes;
    /** What the build does now. Valid during the call. */
    const char *operation;
} ferrum_build_progress;

/* clang-format off */
#define FERRUM_BUILD_PROGRESS_INIT {FERRUM_SIZE_OF(ferrum_build_progress), 0, 0, 0, -1, 0, 0, NULL}
/* clang-format on */

/**
 * Called during a build, one call at a time, on a thread of the build, with no lock held. It
 * may call every function of the library except ferrum_shutdown.
 *
 * @return 0 to continue; another number cancels the build, which then returns
 *         FERRUM_ERROR_CANCELLED, unless progress is 1.
 */
typedef int32_t (*ferrum_build_progress_fn)(
    const ferrum_build_progress *progress, void *user_data);

/** The model to build, and the memory for it.
 *  @by-hand go it has a function of the caller
 *  @by-hand python the arguments of build()
 *  @by-hand rust owns a closure */
typedef struct ferrum_build_request {
    uint32_t struct_size;
    uint32_t reserved;
    /** The id of the model in the elastic pool; NULL: the name of the folder or file, or of the
     *  definition. */
    const char *model;
    /** A folder with config.json, a GGUF file, or a file of ONNX; NULL: definition_json is
     *  the model.
     *  @path */
    const char *path;
    /** The definition, without path; otherwise NULL. */
    const char *definition_json;
    /** Length of definition_json, at most FERRUM_WEIGHTS_JSON_MAX. */
    uint64_t definition_bytes;
    /** The tensors of the definition, without path; {0}: the parameters are initialised as
     *  the definition states.
     *  @optional */
    ferrum_weights weights;
    /** The backend that computes. It stays open as long as the executor. */
    ferrum_compute compute;
    /** The memory, on the device of the backend. */
    ferrum_elastic_pool elastic_pool;
    /** The same as in ferrum_model_config. */
    uint64_t guaranteed_bytes;
    /** The same as in ferrum_model_config. */
    uint64_t max_bytes;
    /** The same as in ferrum_model_config. */
    int32_t priority;
    /** The same as in ferrum_model_config.
     *  @bool */
    uint32_t guarantee_may_wait;
    /** Options of the build, as JSON with the fields of docs/models.md; NULL: all defaults. */
    const char *options_json;
    /** Length of options_json, at most FERRUM_WEIGHTS_JSON_MAX. */
    uint64_t options_bytes;
    /** Called during the build; NULL: not called. */
    ferrum_build_progress_fn progress;
    /** Passed to progress. */
    void *user_data;
} ferrum_build_request;

/* clang-format off */
#define FERRUM_BUILD_REQUEST_INIT {FERRUM_SIZE_OF(ferrum_build_request), 0, NULL, NULL, NULL, 0, {0}, {0}, {0}, 0, 0, 0, 0, NULL, 0, NULL, NULL}
/* clang-format on */

/**
 * Builds a model. Returns when the executor can run. The build registers the model in the
 * elastic pool. After an error nothing is left.
 *
 * @return FERRUM_ERROR_INVALID_CONFIG for options, and for a definition with issues that
 *         stop a build, with the first one; FERRUM_ERROR_INVALID_ARGUMENT for the request,
 *         and for weights that do not fit the definition, with the name of the tensor and
 *         both shapes; FERRUM_ERROR_UNSUPPORTED for a kind of model or an option that the
 *         library does not have; FERRUM_ERROR_MODEL_ALREADY_EXISTS for the id of another model of
 *         the pool; FERRUM_ERROR_CANCELLED; FERRUM_ERROR_TIMEOUT after build_timeout_seconds;
 *         errors of the files, and of the memory.
 *
 * @opens
 * @waits
 * @by-hand go it hands on a function of the caller
 * @by-hand cpp its callable has to live as long as the build
 * @by-hand python,rust it makes an object
 */
FERRUM_API ferrum_status ferrum_executor_build(
    const ferrum_build_request *request, ferrum_executor *executor_out);

/** A tensor with its name.
 *  @by-hand go,cpp,python,rust it is an element of a list */
typedef struct ferrum_named_tensor {
    /** The name of an input or an output of the model. */
    const char *name;
    /** The tensor. */
    ferrum_tensor tensor;
} ferrum_named_tensor;

/**
 * Runs a model. Returns when the outputs are complete. The work comes after the work that is
 * queued on the stream. Runs of one executor follow each other.
 *
 * @param inputs,input_count  the inputs by name. An input that has a default may be missing.
 *                An input of another type of integers or floating-point numbers is
 *                converted. inputs is not NULL.
 * @param outputs,output_count  the outputs by name; others are not copied. {0}: the call
 *                makes the tensor in the memory of the backend, and stores it there.
 *                Otherwise a tensor with the type and the shape of the result. outputs is
 *                not NULL.
 * @param timeout_ns  the longest wait for other calls of the executor, and for a sleeping
 *                model to wake, in nanoseconds, or FERRUM_WAIT_FOREVER.
 *                0: the call returns FERRUM_ERROR_BUSY instead.
 * @return FERRUM_ERROR_INVALID_ARGUMENT for a name that is missing or unknown, for shapes
 *         that do not fit, with both, for an id that is not in the vocabulary, and for a
 *         tensor in the memory of the model itself; FERRUM_ERROR_BUSY, also for a tensor in
 *         memory that sleeps; FERRUM_ERROR_TIMEOUT; FERRUM_ERROR_OUT_OF_MEMORY. After an
 *         error no output was made, and given outputs have no meaning.
 *
 * @waits
 * @optional stream
 * @by-hand c,go it has two lists
 * @by-hand cpp,python,rust it has two lists
 */
FERRUM_API ferrum_status ferrum_executor_run(
    ferrum_executor executor, const ferrum_named_tensor *inputs,
    uint64_t input_count, ferrum_named_tensor *outputs, uint64_t output_count,
    ferrum_stream stream, uint64_t timeout_ns);

/**
 * Returns the memory of the activations of an executor for given lengths of its dimensions,
 * as JSON. Allocates no memory of the device; the model may sleep.
 *
 * @param dimensions_text  a JSON object, such as {"batch": 8, "sequence": 128}.
 * @param dimensions_bytes  its length.
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 * @return FERRUM_ERROR_INVALID_ARGUMENT for a dimension that is missing or unknown, and for a
 *         length that the model does not take.
 *
 * @by-hand python,rust its class is written by hand
 */
FERRUM_API ferrum_status ferrum_executor_plan_json(
    ferrum_executor executor, const char *dimensions_text,
    size_t dimensions_bytes, char *buffer, size_t capacity, size_t *length_out);

/**
 * Returns the state of an executor, as JSON: its memory, inputs, outputs and counters.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 * @by-hand python,rust its class is written by hand
 */
FERRUM_API ferrum_status ferrum_executor_info_json(ferrum_executor executor,
                                                   char *buffer,
                                                   size_t capacity,
                                                   size_t *length_out);

/**
 * Returns the definition that an executor runs, after the passes, as JSON.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 * @by-hand python,rust its class is written by hand
 */
FERRUM_API ferrum_status
ferrum_executor_definition_json(ferrum_executor executor, char *buffer,
                                size_t capacity, size_t *length_out);

/**
 * Writes the model of an executor as a file of ONNX, from the files or the weights of which
 * it was built: its definition before the passes, and the elements as they are stored there.
 *
 * @param file,flags  as for ferrum_model_export_onnx.
 * @return FERRUM_ERROR_INVALID_HANDLE if the weights of the build were closed; errors of
 *         ferrum_model_export_onnx.
 *
 * @path file
 * @flags flags FERRUM_ONNX
 * @waits
 * @by-hand python,rust its class is written by hand
 */
FERRUM_API ferrum_status ferrum_executor_export_onnx(ferrum_executor executor,
                                                     const char *file,
                                                     uint32_t flags);

/**
 * Returns what the build of an executor did, as JSON: warnings, the result of each pass, the
 * time of each part and its estimate.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 * @by-hand python,rust its class is written by hand
 */
FERRUM_API ferrum_status ferrum_executor_report_json(ferrum_executor executor,
                                                     char *buffer,
                                                     size_t capacity,
                                                     size_t *length_out);

/**
 * Puts a model to sleep: its parameters are kept in host memory or a file, and the pages of
 * parameters and arena are released (sleep.h). Addresses and plans stay. A run waits for the
 * wake, or returns FERRUM_ERROR_BUSY.
 *
 * @param config  settings, or NULL for FERRUM_SLEEP_CONFIG_INIT. tag and stream are not set,
 *                and backing is not FERRUM_SLEEP_DISCARD.
 * @param report_out  optional, may be NULL.
 * @return FERRUM_ERROR_INVALID_STATE if the model sleeps; FERRUM_ERROR_TIMEOUT, and with a
 *         timeout of 0 FERRUM_ERROR_BUSY, while another call uses the model; errors of
 *         ferrum_elastic_pool_sleep_model. After an error the model is awake.
 *
 * @waits
 * @optional config
 * @optional report_out
 * @by-hand python,rust its class is written by hand
 */
FERRUM_API ferrum_status ferrum_executor_sleep(
    ferrum_executor executor, const ferrum_sleep_config *config,
    ferrum_sleep_report *report_out);

/**
 * Wakes a sleeping model. Its parameters have the same bits as before.
 *
 * @param config  settings, or NULL for FERRUM_WAKE_CONFIG_INIT. tag is not set.
 * @param report_out  optional, may be NULL.
 * @return FERRUM_ERROR_INVALID_STATE if the model is awake; FERRUM_ERROR_OUT_OF_MEMORY; errors
 *         of ferrum_elastic_pool_wake_model. After an error the model sleeps.
 *
 * @waits
 * @optional config
 * @optional report_out
 * @by-hand python,rust its class is written by hand
 */
FERRUM_API ferrum_status ferrum_executor_wake(ferrum_executor executor,
                                              const ferrum_wake_config *config,
                                              ferrum_wake_report *report_out);

/**
 * Ends a handle of an executor. The last handle of a model, with those that have a name,
 * frees its memory.
 *
 * @param flags  0 or FERRUM_FORCE: the call waits for the calls that use the model.
 * @return FERRUM_ERROR_BUSY while another call uses the model, if this is its last handle.
 *
 * @ends
 * @waits
 */
FERRUM_API ferrum_status ferrum_executor_destroy(ferrum_executor executor,
                                                 uint32_t flags);

/*
 * Names of executors. A program gives an executor a name, under which its other parts find
 * it. Each handle of an executor keeps the model, and so does a name. So a model that is
 * found can be used until its handle is destroyed, whatever others do.
 */

/**
 * Gives an executor a name. The name keeps the model until ferrum_executor_remove_name. The
 * handle stays the caller's.
 *
 * @param name  1 to 63 bytes of UTF-8.
 * @return FERRUM_ERROR_ALREADY_EXISTS for a name that another executor, or this one, has.
 *
 * @by-hand python,rust its class is written by hand
 */
FERRUM_API ferrum_status ferrum_executor_add_name(ferrum_executor executor,
                                                  const char *name);

/**
 * Finds an executor by its name.
 *
 * @param executor_out  a further handle of the executor, which the caller destroys.
 * @return FERRUM_ERROR_NOT_FOUND.
 *
 * @opens
 * @go executors.Find
 * @by-hand python,rust it makes an object
 */
FERRUM_API ferrum_status ferrum_executor_find(const char *name,
                                              ferrum_executor *executor_out);

/**
 * Ends a name of an executor.
 *
 * @param executor_out  the handle that the name had, which the caller destroys.
 * @return FERRUM_ERROR_NOT_FOUND.
 *
 * @opens
 * @go executors.RemoveName
 * @by-hand python,rust it makes an object
 */
FERRUM_API ferrum_status
ferrum_executor_remove_name(const char *name, ferrum_executor *executor_out);

/**
 * Lists the executors that have a name, as JSON: {"executors": [...]} in the order of the
 * names, each with its name and the fields of ferrum_executor_info_json.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 *
 * @go executors.ListJSON
 */
FERRUM_API ferrum_status ferrum_executors_json(char *buffer, size_t capacity,
                                               size_t *length_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_EXECUTORS_H */
