/*
 * Compute: backends that compute operations on tensors.
 * A part of ferrum_mem.h, which programs include, and which has the rules that hold for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_COMPUTE_H
#define FERRUM_MEM_COMPUTE_H

#include "base.h"
#include "dtype.h"
#include "managers.h"
#include "streams.h"
#include "tensor.h"
#include "weights.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A backend is opened on a device, with memory of its own. An operation is prepared once,
 * from a name and attributes, and runs any number of times. A sequence runs several
 * operations with fixed tensors in one call. docs/operators.md lists the operations;
 * docs/compute.md explains backends, and documents all JSON texts of this section.
 */

/** An open backend.
 *  @go computes.Compute */
typedef struct ferrum_compute {
    uint64_t id; /**< 0 is no backend */
} ferrum_compute;

/** A prepared operation.
 *  @go computes.Op */
typedef struct ferrum_op {
    uint64_t id; /**< 0 is no operation */
} ferrum_op;

/** Operations with fixed tensors.
 *  @go computes.Sequence */
typedef struct ferrum_sequence {
    uint64_t id; /**< 0 is no sequence */
} ferrum_sequence;

/** Largest number of inputs, and of outputs, of an operation. */
#define FERRUM_OP_TENSORS_MAX 1024
/** As the id of an output of a run: the output is not wanted. */
#define FERRUM_TENSOR_UNWANTED UINT64_C(0xFFFFFFFFFFFFFFFF)

/** The kind of a backend.
 *  @go backend.Type */
typedef int32_t ferrum_compute_type;
/** Not in this library: FERRUM_ERROR_UNSUPPORTED. */
#define FERRUM_COMPUTE_CANDLE 0
/** ONNX Runtime, whose library is loaded when it is opened. It also runs files of
 *  ONNX with operators that this library lacks. Without its library:
 *  FERRUM_ERROR_UNSUPPORTED. */
#define FERRUM_COMPUTE_ONNX_RUNTIME 1
/** Not in this library: FERRUM_ERROR_UNSUPPORTED. */
#define FERRUM_COMPUTE_TENSORRT 2
/** Not in this library: FERRUM_ERROR_UNSUPPORTED. */
#define FERRUM_COMPUTE_METAL 3
/** The CPU engine of this library. */
#define FERRUM_COMPUTE_CPU 4
/** A backend that the program has registered with ferrum_compute_register. */
#define FERRUM_COMPUTE_CUSTOM 5

/** When the memory of a backend is taken from the device.
 *  @go backend.Growth */
typedef int32_t ferrum_compute_growth;
/** The whole pool when the backend is opened; it does not grow. */
#define FERRUM_COMPUTE_GROWTH_STATIC 0
/** When an allocation needs it. */
#define FERRUM_COMPUTE_GROWTH_DYNAMIC 1
/** In quarters of the pool, the first one when the backend is opened. */
#define FERRUM_COMPUTE_GROWTH_INCREMENTAL 2

/** The settings of a backend.
 *  @by-hand go,python,rust it has a JSON text
 *  @go library.ComputeConfig */
typedef struct ferrum_compute_config {
    uint32_t struct_size;
    /** The kind of the backend. */
    ferrum_compute_type type;
    /** The name of a registered backend, for FERRUM_COMPUTE_CUSTOM; otherwise NULL. */
    const char *name;
    /** The open device. */
    ferrum_device device;
    /** 0 to 3. At 0 each run plans anew; from 1 on plans are kept by shapes. The CPU
     *  engine plans the same at 1, 2 and 3. The level changes no result. */
    uint32_t optimization_level;
    /** Number of threads that compute; 0: as many as the process may use. */
    uint32_t threads;
    /** 1: fill new and freed memory with patterns, and check the bytes around blocks.
     *  @bool */
    uint32_t enable_debug;
    /** When memory is taken from the device. */
    ferrum_compute_growth growth;
    /** The most memory of the backend; 0: no bound with FERRUM_COMPUTE_GROWTH_DYNAMIC,
     *  otherwise 1 GiB, or a quarter of the device if that is less. */
    uint64_t pool_size_bytes;
    /** Alignment of its blocks, a power of two; 0: 256. */
    uint64_t alignment_bytes;
    /** 1: keep freed memory for the next allocation; 0: return it to the device.
     *  @bool */
    uint32_t enable_pooling;
    uint32_t reserved;
    /** Options of the backend, as JSON with the fields of docs/compute.md; NULL: none. */
    const char *options_json;
    /** Length of options_json, at most FERRUM_WEIGHTS_JSON_MAX. */
    uint64_t options_bytes;
} ferrum_compute_config;

/* clang-format off */
#define FERRUM_COMPUTE_CONFIG_INIT {FERRUM_SIZE_OF(ferrum_compute_config), 4, NULL, {0}, 2, 0, 0, 1, 0, 0, 1, 0, NULL, 0}
/* clang-format on */

/**
 * Checks settings without opening a backend. The device may be {0}.
 *
 * @return FERRUM_ERROR_INVALID_CONFIG and FERRUM_ERROR_INVALID_ARGUMENT, which name the
 *         setting; FERRUM_ERROR_UNSUPPORTED for a kind that this library does not have, with
 *         the reason; FERRUM_ERROR_INVALID_FORMAT for the options.
 *
 * @go computes.Validate
 * @by-hand cpp the class of an open backend has it
 * @by-hand python,rust its settings have no record
 */
FERRUM_API ferrum_status
ferrum_compute_validate(const ferrum_compute_config *config);

/**
 * Opens a backend on a device.
 *
 * @return FERRUM_ERROR_UNSUPPORTED_DEVICE for a device on which the backend does not
 *         compute; FERRUM_ERROR_NOT_FOUND for a name; errors of ferrum_compute_validate;
 *         FERRUM_ERROR_OUT_OF_MEMORY.
 *
 * @opens
 * @go computes.Open
 * @by-hand python,rust it makes an object
 */
FERRUM_API ferrum_status ferrum_compute_open(
    const ferrum_compute_config *config, ferrum_compute *compute_out);

/**
 * Closes a backend and releases its memory.
 *
 * @param flags  0 or FERRUM_FORCE: the call waits for queued work. Operations, sequences
 *               and tensors of the backend then return errors, and must still be destroyed.
 * @return FERRUM_ERROR_BUSY while operations, sequences, or tensors and blocks in the
 *         memory of the backend exist, or a call is in progress.
 *
 * @ends
 * @waits
 */
FERRUM_API ferrum_status ferrum_compute_close(ferrum_compute compute,
                                              uint32_t flags);

/**
 * Returns the manager of the memory of a backend, for statistics and for blocks of the
 * program. It belongs to the backend: ferrum_manager_destroy and
 * ferrum_manager_configure_pool return FERRUM_ERROR_INVALID_STATE for it, and the handle
 * is invalid after the backend was closed. It is the same handle each time.
 *
 * @borrowed manager_out
 * @by-hand python,rust its class is written by hand
 */
FERRUM_API ferrum_status
ferrum_compute_get_manager(ferrum_compute compute, ferrum_manager *manager_out);

/**
 * Returns the properties of a backend, as JSON with the fields of docs/compute.md.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 * @by-hand python,rust its class is written by hand
 */
FERRUM_API ferrum_status ferrum_compute_capabilities_json(
    ferrum_compute compute, char *buffer, size_t capacity, size_t *length_out);

/**
 * Returns the state of a backend, as JSON with the fields of docs/compute.md: completed
 * operations, memory by device, the last error. Does not wait for the device.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 * @by-hand python,rust its class is written by hand
 */
FERRUM_API ferrum_status ferrum_compute_status_json(ferrum_compute compute,
                                                    char *buffer,
                                                    size_t capacity,
                                                    size_t *length_out);

/**
 * Waits until all work of the device of a backend is done.
 *
 * @return FERRUM_ERROR_TIMEOUT; the error of work that has failed.
 *
 * @waits
 * @by-hand python,rust its class is written by hand
 */
FERRUM_API ferrum_status ferrum_compute_synchronize(ferrum_compute compute,
                                                    uint64_t timeout_ns);

/**
 * Lists all backends in alphabetical order, also those that are not available with the
 * reason, as JSON with the fields of docs/compute.md.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 *
 * @go computes.BackendsJSON
 */
FERRUM_API ferrum_status ferrum_compute_backends_json(char *buffer,
                                                      size_t capacity,
                                                      size_t *length_out);

/**
 * Chooses a backend by requirements, and returns, as JSON with the fields of
 * docs/compute.md, its name and for each other backend why not. Among backends that meet
 * all requirements, one with another device than the host is better; then one with more
 * extra capabilities; then one with larger limits; then the first name.
 *
 * @param requirements_text  the requirements as JSON; NULL or an empty text: none.
 * @param requirements_bytes  its length.
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 * @return FERRUM_ERROR_INVALID_FORMAT for a text that is no such object. If no backend
 *         meets the requirements, the call succeeds, and "best" is empty.
 *
 * @optional requirements_text
 * @go computes.FindJSON
 */
FERRUM_API ferrum_status ferrum_compute_find_json(const char *requirements_text,
                                                  size_t requirements_bytes,
                                                  char *buffer, size_t capacity,
                                                  size_t *length_out);

/**
 * Prepares an operation of a backend.
 *
 * @param name  the operator, such as "MatMul" or "ferrum.linear".
 * @param attributes_text  its attributes as a JSON object; NULL or an empty text: none.
 * @param attributes_bytes  the length of the text.
 * @param opset  the version of the operator's domain; 0: the newest that is known.
 * @return FERRUM_ERROR_NOT_FOUND for an unknown name, which names the nearest one;
 *         FERRUM_ERROR_INVALID_ARGUMENT for attributes;
 *         FERRUM_ERROR_UNSUPPORTED for an opset, and for an operator that the backend does
 *         not compute.
 *
 * @opens
 * @optional attributes_text
 * @go computes.Prepare
 * @by-hand cpp,python,rust it makes an object
 */
FERRUM_API ferrum_status ferrum_op_prepare(ferrum_compute compute,
                                           const char *name,
                                           const char *attributes_text,
                                           size_t attributes_bytes,
                                           uint32_t opset, ferrum_op *op_out);

/** Ends an operation. Queued runs of it complete.
 *  @ends */
FERRUM_API ferrum_status ferrum_op_destroy(ferrum_op op);

/**
 * Infers the outputs of a run without running it.
 *
 * @param inputs,input_count  the inputs by type, shape and strides, each with its
 *                struct_size. FERRUM_ELEMENTS_ABSENT: an absent input. An input that carries
 *                a shape, axes or sizes, such as the second one of Reshape, has its elements
 *                too. inputs is not NULL.
 * @param outputs,output_count  filled. A description that has FERRUM_ELEMENTS_ABSENT before
 *                the call stands for an output that is not wanted; an output without a
 *                place is not wanted if it is optional. outputs is not NULL.
 * @param workspace_bytes_out  the memory that the run takes besides its outputs.
 * @return FERRUM_ERROR_INVALID_ARGUMENT for inputs that the operator does not take, with
 *         both shapes; FERRUM_ERROR_UNSUPPORTED for a combination that the backend does not
 *         compute; FERRUM_ERROR_OVERFLOW. After an error the descriptions are as before.
 *
 * @by-hand c,go it has two lists
 * @by-hand cpp,python,rust it has two lists
 */
FERRUM_API ferrum_status ferrum_op_infer(ferrum_op op,
                                         const ferrum_tensor_desc *inputs,
                                         uint64_t input_count,
                                         ferrum_tensor_desc *outputs,
                                         uint64_t output_count,
                                         uint64_t *workspace_bytes_out);

/**
 * Runs an operation on tensors, in the order of a stream. If the stream has no work, the
 * operation runs in the calling thread and is complete when the call returns. Otherwise it
 * is queued. The error of queued work is returned by ferrum_stream_synchronize and
 * ferrum_compute_status_json.
 *
 * @param inputs,input_count  the inputs; {0}: an absent one. inputs is not NULL.
 * @param outputs,output_count  the outputs. {0}: the call makes the tensor in the memory
 *                of the backend and stores it there. {FERRUM_TENSOR_UNWANTED}: not wanted.
 *                Otherwise a tensor with the type and shape of ferrum_op_infer, which may
 *                be the memory of an input only if the backend computes in place. outputs
 *                is not NULL.
 * @return FERRUM_ERROR_INVALID_ARGUMENT for tensors that do not fit, with the operator, the
 *         input and both shapes; FERRUM_ERROR_UNSUPPORTED; FERRUM_ERROR_UNSUPPORTED_DEVICE
 *         for a tensor of another device; FERRUM_ERROR_PERMISSION_DENIED for a read-only
 *         output; FERRUM_ERROR_BUSY for a tensor whose memory sleeps, also if the tensors
 *         do not fit; FERRUM_ERROR_OUT_OF_MEMORY. After an error outputs are as before.
 *
 * @waits
 * @optional stream
 * @by-hand c,go it has two lists
 * @by-hand cpp,python,rust it has two lists
 */
FERRUM_API ferrum_status ferrum_op_run(
    ferrum_op op, const ferrum_tensor *inputs, uint64_t input_count,
    ferrum_tensor *outputs, uint64_t output_count, ferrum_stream stream);

/**
 * Packs a constant input, such as a matrix of weights, into the layout that the backend
 * reads fastest. The packed tensor replaces the input in runs of this operation, and no
 * other call reads its elements.
 *
 * @param input  the number of the input.
 * @param memory  as for ferrum_tensor_create; with all handles {0}: the memory of the
 *                backend.
 * @return FERRUM_ERROR_UNSUPPORTED for an input or a type without such a layout;
 *         FERRUM_ERROR_INVALID_ARGUMENT for an input that the operator does not have; errors
 *         of ferrum_op_run and ferrum_tensor_create. After an error nothing is left.
 *
 * @opens
 * @waits
 * @optional stream
 * @by-hand cpp,python,rust it makes an object
 */
FERRUM_API ferrum_status ferrum_op_pack(ferrum_op op, uint32_t input,
                                        ferrum_tensor tensor,
                                        const ferrum_weights_memory *memory,
                                        ferrum_stream stream,
                                        ferrum_tensor *packed_out);

/**
 * Creates an empty sequence of a backend.
 *
 * @opens
 * @go computes.CreateSequence
 * @by-hand cpp,python,rust it makes an object
 */
FERRUM_API ferrum_status ferrum_sequence_create(ferrum_compute compute,
                                                ferrum_sequence *sequence_out);

/**
 * Adds a run of an operation at the end of a sequence. The sequence keeps the tensors, which
 * may be destroyed. A made output can be an input of the next operation at once. The
 * elements of shapes, axes and sizes are read now, and stay as they are.
 *
 * @param inputs,input_count,outputs,output_count  as for ferrum_op_run.
 * @return FERRUM_ERROR_INVALID_ARGUMENT for an operation of another backend;
 *         FERRUM_ERROR_BUSY while the sequence runs; errors of ferrum_op_run. After an error
 *         the sequence and the outputs are as before.
 *
 * @waits
 * @by-hand c,go it has two lists
 * @by-hand cpp,python,rust it has two lists
 */
FERRUM_API ferrum_status ferrum_sequence_add(
    ferrum_sequence sequence, ferrum_op op, const ferrum_tensor *inputs,
    uint64_t input_count, ferrum_tensor *outputs, uint64_t output_count);

/**
 * Runs all operations of a sequence, as ferrum_op_run does. The first run after an addition
 * makes the workspace.
 *
 * @return errors of ferrum_op_run. If an operation fails, those before it have run.
 *
 * @waits
 * @optional stream
 * @by-hand python,rust its class is written by hand
 */
FERRUM_API ferrum_status ferrum_sequence_run(ferrum_sequence sequence,
                                             ferrum_stream stream);

/**
 * Ends a sequence.
 *
 * @return FERRUM_ERROR_BUSY while it runs or a run is queued.
 *
 * @ends
 */
FERRUM_API ferrum_status ferrum_sequence_destroy(ferrum_sequence sequence);

/*
 * Backends of the program. A program registers one under a name. ferrum_compute_open opens
 * it with FERRUM_COMPUTE_CUSTOM and that name, as often as wanted. The library infers
 * shapes, checks tensors, makes outputs and the workspace, and orders runs by stream; the
 * functions of the program compute the elements.
 *
 * Each function runs on the thread of a call, or on the thread of a stream in a queued run,
 * and several threads may call one at a time. No lock is held. It may call the library, but
 * not a function that waits for a stream, such as ferrum_op_run and ferrum_compute_close:
 * these return FERRUM_ERROR_INVALID_STATE, as in a host function. It must not leave by an
 * exception or longjmp. A status other than FERRUM_OK is the status of the call, whose
 * message names the backend and the operator; a number that is no status becomes
 * FERRUM_ERROR_INTERNAL.
 */

/** Size of the message of a failed function, with its closing NUL. */
#define FERRUM_COMPUTE_MESSAGE_MAX 256

/** What a backend of the program computes. Valid during the function that gets it.
 *  @by-hand go it has lists
 *  @by-hand python,rust it is an object */
typedef struct ferrum_compute_call {
    uint32_t struct_size;
    /** The version of the operator's domain that introduced this form of the operator. */
    uint32_t opset;
    /** The operator in its domain, such as "MatMul" or "linear". */
    const char *name;
    /** Its domain: "" for the operators of ONNX, or "ferrum". */
    const char *domain;
    /** The attributes that were given or have a default, as a JSON object in alphabetical
     *  order; types of data are their names. A NUL follows the text. */
    const char *attributes_json;
    /** Length of attributes_json. */
    uint64_t attributes_bytes;
    /** The device of the backend. */
    ferrum_device device;
    /** The inputs, all with FERRUM_ELEMENTS_READ_ONLY. FERRUM_ELEMENTS_ABSENT: not given.
     *  The addresses are 0 in a plan. Inputs with a shape, axes or sizes can be read by the
     *  host. */
    const ferrum_tensor_desc *inputs;
    /** Number of inputs. */
    uint64_t input_count;
    /** The outputs. FERRUM_ELEMENTS_ABSENT: not wanted. The addresses are 0 in a plan. */
    const ferrum_tensor_desc *outputs;
    /** Number of outputs. */
    uint64_t output_count;
    /** Memory of the run, aligned to 64 bytes; 0: none. */
    ferrum_address workspace;
    /** Size of the workspace, as the plan states. */
    uint64_t workspace_bytes;
    /** Has FERRUM_COMPUTE_MESSAGE_MAX bytes. A function that fails may write UTF-8 text
     *  and a NUL, which becomes a part of the message. */
    char *message_out;
} ferrum_compute_call;

/* clang-format off */
#define FERRUM_COMPUTE_CALL_INIT {FERRUM_SIZE_OF(ferrum_compute_call), 0, NULL, NULL, NULL, 0, {0}, NULL, 0, NULL, 0, 0, 0, NULL}
/* clang-format on */

/** An output may be the memory of an input that has the same type and strides. Without it,
 *  outputs overlap neither inputs nor each other. */
#define FERRUM_COMPUTE_PLAN_IN_PLACE UINT32_C(1)

/** How a backend of the program computes a call.
 *  @by-hand go a function of the caller fills it
 *  @by-hand python,rust it is an object */
typedef struct ferrum_compute_plan {
    uint32_t struct_size;
    /** FERRUM_COMPUTE_PLAN_* flags.
     *  @flags FERRUM_COMPUTE_PLAN */
    uint32_t flags;
    /** The memory that a run needs besides inputs and outputs. */
    uint64_t workspace_bytes;
} ferrum_compute_plan;

/* clang-format off */
#define FERRUM_COMPUTE_PLAN_INIT {FERRUM_SIZE_OF(ferrum_compute_plan), 0, 0}
/* clang-format on */

/**
 * Decides how a backend computes operands of certain types, shapes and strides. Plans are
 * kept, as docs/compute.md explains.
 *
 * @param plan_out  FERRUM_COMPUTE_PLAN_INIT before the call.
 * @return FERRUM_OK; FERRUM_ERROR_UNSUPPORTED for operands that the backend does not
 *         compute; another error.
 */
typedef ferrum_status (*ferrum_compute_plan_fn)(const ferrum_compute_call *call,
                                                ferrum_compute_plan *plan_out,
                                                void *user_data);

/**
 * Computes the outputs of a call. The elements are at the addresses of the descriptions,
 * with their strides. Outputs are complete when the function returns, or after the
 * ferrum_compute_synchronize_fn of the backend.
 *
 * @return FERRUM_OK; an error, after which the outputs have no meaning.
 */
typedef ferrum_status (*ferrum_compute_run_fn)(const ferrum_compute_call *call,
                                               void *user_data);

/**
 * Waits for work that a backend has left on a device. ferrum_compute_synchronize calls it.
 *
 * @return FERRUM_OK; the error of the work.
 */
typedef ferrum_status (*ferrum_compute_synchronize_fn)(ferrum_device device,
                                                       void *user_data);

/** A backend of the program.
 *  @by-hand go it has functions of the caller
 *  @by-hand python the arguments of register_compute()
 *  @by-hand rust owns an object
 *  @go library.ProgramBackend */
typedef struct ferrum_compute_backend {
    uint32_t struct_size;
    uint32_t reserved;
    /** Its name, 1 to 63 letters, digits, '_', '-' and '.'. No other backend has this name. */
    const char *name;
    /** A text for people; NULL: "". */
    const char *version;
    /** Its properties, as JSON with the fields of docs/compute.md. A field that is missing
     *  has its default. supported_devices has the devices on which it computes. */
    const char *capabilities_json;
    /** Length of capabilities_json, at most FERRUM_WEIGHTS_JSON_MAX. */
    uint64_t capabilities_bytes;
    /** Decides how it computes; NULL: it computes every call without a workspace. */
    ferrum_compute_plan_fn plan;
    /** Computes. */
    ferrum_compute_run_fn run;
    /** Waits for its work; NULL: outputs are complete when run returns. */
    ferrum_compute_synchronize_fn synchronize;
    /** Called once when the registration has ended, and no function of the backend runs or
     *  will be called; NULL: not called. */
    ferrum_release_fn release;
    /** Passed to all functions. */
    void *user_data;
} ferrum_compute_backend;

/* clang-format off */
#define FERRUM_COMPUTE_BACKEND_INIT {FERRUM_SIZE_OF(ferrum_compute_backend), 0, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL}
/* clang-format on */

/**
 * Registers a backend of the program. ferrum_compute_find_json and
 * ferrum_compute_backends_json list it from then on. ferrum_registration_remove removes it,
 * and returns FERRUM_ERROR_BUSY while the backend is open. A forced ferrum_shutdown closes
 * and removes it.
 *
 * @param backend  the call copies it and its texts. After an error release is not called.
 * @return FERRUM_ERROR_ALREADY_EXISTS for the name of another backend or of a kind;
 *         FERRUM_ERROR_INVALID_ARGUMENT for another name that is not possible;
 *         FERRUM_ERROR_NULL_POINTER for run; FERRUM_ERROR_INVALID_FORMAT and
 *         FERRUM_ERROR_INVALID_CONFIG for the properties.
 *
 * @go computes.Register
 * @by-hand cpp its callables are objects of the program
 * @by-hand python,rust its callables are objects of the program
 */
FERRUM_API ferrum_status
ferrum_compute_register(const ferrum_compute_backend *backend,
                        ferrum_registration *registration_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_COMPUTE_H */
