/*
 * Layers: layer types of the program in models.
 * A part of ferrum_mem.h, which programs include, and which has the rules that hold for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_LAYERS_H
#define FERRUM_MEM_LAYERS_H

#include "base.h"
#include "callbacks.h"
#include "compute.h"
#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A program registers a layer type, such as "mine.scale". From then on, layers of definitions
 * may have this layer_type, and ferrum_op_prepare prepares it as an operation of any backend.
 * The library checks definitions, infers shapes, plans and allocates outputs and the
 * workspace, and orders runs by stream; the functions of the program compute the elements.
 * docs/layers.md explains layers.
 *
 * Each function runs on the thread of a call, or on the thread of a stream in a queued run,
 * and several threads may call one at a time. No lock is held. It may call the library, but
 * not a function that waits for a stream or ends an object with work, such as ferrum_op_run,
 * ferrum_executor_run and ferrum_executor_destroy: these return FERRUM_ERROR_INVALID_STATE, as
 * in a host function. It must not leave by an exception or longjmp. A status other than
 * FERRUM_OK is the status of the call, whose message names the layer type and the function; a
 * number that is no status becomes FERRUM_ERROR_INTERNAL.
 */

/** As input_rank: the first input may have any shape. */
#define FERRUM_LAYER_ANY_RANK UINT32_C(0xFFFFFFFF)

/** An output may be the memory of an input of the same type and strides. Without it, outputs
 *  overlap neither inputs nor each other. */
#define FERRUM_LAYER_IN_PLACE UINT32_C(1)
/** Inputs and outputs may have any strides. Without it, they have no gaps: their elements lie
 *  in the order of the shape. */
#define FERRUM_LAYER_STRIDES UINT32_C(2)
/** One thread at a time calls forward. */
#define FERRUM_LAYER_ONE_AT_A_TIME UINT32_C(4)

/**
 * Infers the outputs of a layer.
 *
 * @param call  has the configuration as attributes_json, and the inputs without addresses. Its
 *              outputs are outputs_out.
 * @param outputs_out  has call->output_count elements. Each has the type and the shape of the first input, or
 *              FERRUM_ELEMENTS_ABSENT if the caller does not want it. The function changes
 *              dtype, rank and shape. It sets FERRUM_ELEMENTS_ABSENT in flags for an output
 *              that the layer does not give for these inputs. Other fields are not read.
 * @return FERRUM_OK; an error for inputs that the layer does not take.
 */
typedef ferrum_status (*ferrum_layer_infer_fn)(const ferrum_compute_call *call,
                                               ferrum_tensor_desc *outputs_out,
                                               void *user_data);

/** Takes the parameters of a layer, as a JSON list with the fields of docs/layers.md. The
 *  library copies the text, and checks it after the callback has returned. The last list
 *  counts.
 *
 * @param list  the number that the callback got.
 * @return FERRUM_ERROR_INVALID_SIZE for a text that is longer than FERRUM_WEIGHTS_JSON_MAX;
 *         FERRUM_ERROR_INVALID_HANDLE if the callback has returned.
 */
typedef ferrum_status (*ferrum_layer_list_fn)(uint64_t list, const char *json,
                                              uint64_t json_bytes);

/**
 * States the parameters of a layer: calls take.
 *
 * @param call  has the configuration, and no operands.
 * @param list  a number for take; valid during the callback.
 * @return FERRUM_OK; an error, which the build returns.
 */
typedef ferrum_status (*ferrum_layer_parameters_fn)(
    const ferrum_compute_call *call, ferrum_layer_list_fn take, uint64_t list,
    void *user_data);

/**
 * Makes the elements of a parameter that the weights do not have.
 *
 * @param call  has the configuration. Its only output is the parameter, without gaps, in
 *              memory of the host; the device is {0}.
 * @param parameter  the name in the list of the layer type.
 * @return FERRUM_OK; an error, which the build returns.
 */
typedef ferrum_status (*ferrum_layer_initialize_fn)(
    const ferrum_compute_call *call, const char *parameter, void *user_data);

/** A layer type of the program.
 *  @by-hand go it has functions of the caller
 *  @by-hand python the arguments of layer()
 *  @by-hand rust owns an object
 *  @go library.ProgramLayer */
typedef struct ferrum_layer {
    uint32_t struct_size;
    /** FERRUM_LAYER_* flags.
     *  @flags FERRUM_LAYER */
    uint32_t flags;
    /** The type in a domain of the program, such as "mine.scale": letters, digits, '_', '-' and
     *  '.', at most 127. What follows the last '.' is the name in the domain. The domains
     *  "ai.onnx" and "ferrum" are those of the library. */
    const char *type;
    /** A text for people; NULL: the type. */
    const char *name;
    /** Length of each dimension of the first input; -1: any length. */
    int64_t input_shape[8];
    /** Number of dimensions of the first input, at most FERRUM_TENSOR_RANK_MAX, or
     *  FERRUM_LAYER_ANY_RANK. */
    uint32_t input_rank;
    /** Number of outputs, 1 to 64. */
    uint32_t output_count;
    /** The configuration as a JSON object; NULL: {}. The config of a layer of a definition, or
     *  the attributes of an operation, replace its fields. */
    const char *config_json;
    /** Length of config_json, at most FERRUM_WEIGHTS_JSON_MAX. */
    uint64_t config_bytes;
    /** Infers the outputs; NULL: they have the type and shape of the first input. */
    ferrum_layer_infer_fn infer;
    /** States the parameters; NULL: the layers of a definition list them. */
    ferrum_layer_parameters_fn parameters;
    /** Makes parameters; NULL: each has an initialization or a tensor of the weights. */
    ferrum_layer_initialize_fn initialize;
    /** Decides how it computes; NULL: without a workspace. */
    ferrum_compute_plan_fn plan;
    /** Computes the outputs from the inputs; the parameters are the last inputs. The outputs
     *  are complete when it returns. */
    ferrum_compute_run_fn forward;
    /** Called once when the registration has ended, and no function of the layer runs or
     *  will be called; NULL: not called. */
    ferrum_release_fn release;
    /** Passed to all functions. */
    void *user_data;
} ferrum_layer;

/* clang-format off */
#define FERRUM_LAYER_INIT {FERRUM_SIZE_OF(ferrum_layer), 0, NULL, NULL, {0}, 4294967295U, 1, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL}
/* clang-format on */

/**
 * Registers a layer type of the program. ferrum_registration_remove removes it, and returns
 * FERRUM_ERROR_BUSY while models or operations use it, or one of its functions runs. A forced
 * ferrum_shutdown ends what uses it, and removes it.
 *
 * @param layer  the call copies it and its texts. After an error release is not called.
 * @return FERRUM_ERROR_ALREADY_EXISTS for the type of another layer;
 *         FERRUM_ERROR_INVALID_ARGUMENT for a type, a shape, a number of outputs or a
 *         configuration that is not possible; FERRUM_ERROR_NULL_POINTER for forward.
 *
 * @go layers.Register
 * @by-hand cpp its callables are objects of the program
 * @by-hand python,rust its callables are objects of the program
 */
FERRUM_API ferrum_status ferrum_layer_register(
    const ferrum_layer *layer, ferrum_registration *registration_out);

/**
 * Lists the layer types of the program in alphabetical order, as JSON with the fields of
 * docs/layers.md.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 *
 * @go layers.ListJSON
 */
FERRUM_API ferrum_status ferrum_layers_json(char *buffer, size_t capacity,
                                            size_t *length_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_LAYERS_H */
