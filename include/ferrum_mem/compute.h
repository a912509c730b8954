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
/** Not in this library: FERRUM_ERROR_UNSUPPORTED. */
#define FERRUM_COMPUTE_ONNX_RUNTIME 1
/** Not in this library: FERRUM_ERROR_UNSUPPORTED. */
#define FERRUM_COMPUTE_TENSORRT 2
/** Not in this library: FERRUM_ERROR_UNSUPPORTED. */
#define FERRUM_COMPUTE_METAL 3
/** The CPU engine of this library. */
#define FERRUM_COMPUTE_CPU 4
/** A registered backend. This version has no function that registers one, so no name is
 *  found. */
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
 *                struct_size. FERRUM_ELEMENTS_ABSENT: an absent input. inputs is not NULL.
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
 *         output; FERRUM_ERROR_BUSY for a tensor whose memory sleeps;
 *         FERRUM_ERROR_OUT_OF_MEMORY. After an error outputs are as before.
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

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_COMPUTE_H */
