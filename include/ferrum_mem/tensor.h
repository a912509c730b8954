/*
 * Tensors: memory with a data type, a shape and strides.
 * A part of ferrum_mem.h, which programs include, and which has the rules that hold for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_TENSOR_H
#define FERRUM_MEM_TENSOR_H

#include "base.h"
#include "dtype.h"
#include "managers.h"
#include "streams.h"
#include "weights.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A tensor is a view of memory: of memory that was allocated for it, of a block, of a loaded
 * weight, or of memory of the program. Several tensors can be views of the same memory. The
 * memory is freed, or released to its owner, with the last of them. docs/tensors.md
 * explains types, views, sleep and DLPack.
 *
 * Elements are read and written in the order of streams, like all memory of the library. A
 * call that queues work keeps the memory of its tensors until the work has run, also if the
 * tensors are destroyed before.
 *
 * Calls on a tensor return FERRUM_ERROR_BUSY while its memory sleeps, and
 * FERRUM_ERROR_INVALID_STATE after the memory has ended by FERRUM_FORCE: with its pool, its
 * model, its manager, its cache, its backend, or its set of weights. Such a tensor must still
 * be destroyed.
 *
 * A forced end waits for calls and queued work that read or write the elements. It does not
 * wait for a program that uses an address: that of a description, or of an array that another
 * package has made over the memory with DLPack. Nothing may use these after the end.
 */

/** A tensor.
 *  @go tensors.Tensor */
typedef struct ferrum_tensor {
    uint64_t id; /**< 0 is no tensor */
} ferrum_tensor;

/** Largest number of dimensions of a tensor. */
#define FERRUM_TENSOR_RANK_MAX 8

/** The elements lie in the order of the shape, without gaps. As an argument: strides of the
 *  description are ignored. */
#define FERRUM_ELEMENTS_CONTIGUOUS UINT32_C(1)
/** The elements cannot be written. */
#define FERRUM_ELEMENTS_READ_ONLY UINT32_C(2)
/** The elements are packed for an engine, and nothing else reads them. Not an argument. */
#define FERRUM_ELEMENTS_PACKED UINT32_C(4)
/** There is no tensor: an absent input or output of an operation. Only for ferrum_op_infer. */
#define FERRUM_ELEMENTS_ABSENT UINT32_C(8)
/** A dimension of several indices has the stride 0: its elements have one place. As an
 *  argument: strides that are all 0 repeat one element. Without the flag such strides are
 *  those of elements without gaps. */
#define FERRUM_ELEMENTS_REPEATED UINT32_C(16)

/** Largest number of elements of an input that carries a shape, axes or sizes. */
#define FERRUM_TENSOR_LIST_MAX 4096

/** The type, the shape and the place of a tensor.
 *  @by-hand python,rust shape and strides are lists
 *  @go library.TensorDesc */
typedef struct ferrum_tensor_desc {
    uint32_t struct_size;
    /** The type of the elements.
     *  @go DType */
    ferrum_dtype dtype;
    /** Number of dimensions. */
    uint32_t rank;
    /** FERRUM_ELEMENTS_* flags.
     *  @flags FERRUM_ELEMENTS */
    uint32_t flags;
    /** Length of each dimension, the slowest first. */
    int64_t shape[8];
    /** Distance from one index of a dimension to the next, in elements. May be 0 or
     *  negative. As an argument, all 0: the elements lie in the order of the shape without
     *  gaps, unless flags has FERRUM_ELEMENTS_REPEATED. */
    int64_t strides[8];
    /** Address of the element whose indices are all 0. */
    ferrum_address address;
    /** Size of the elements without gaps. As an argument: ignored. */
    uint64_t size_bytes;
    /** The device, such as "cpu:0". As an argument: ignored. */
    char device[64];
    /** The elements of an input with one dimension that carries a shape, axes or sizes, for
     *  ferrum_op_infer; NULL: they are not known. Other functions do not use them.
     *  @go Elements
     *  @list element_count FERRUM_TENSOR_LIST_MAX INVALID_ARGUMENT */
    const int64_t *elements;
    /** Number of elements; 0 with NULL. Otherwise the length of the dimension. */
    uint64_t element_count;
} ferrum_tensor_desc;

/* clang-format off */
#define FERRUM_TENSOR_DESC_INIT {FERRUM_SIZE_OF(ferrum_tensor_desc), 0, 0, 0, {0}, {0}, 0, 0, {0}, NULL, 0}
/* clang-format on */

/**
 * Allocates memory for a contiguous tensor. The elements have no value yet.
 *
 * While the tensor exists, a call that destroys its pool or model without FERRUM_FORCE
 * returns FERRUM_ERROR_BUSY.
 *
 * @param memory  a pool, a virtual pool with an offset, or a model of an elastic pool; not
 *                a device. If the model or its tag sleeps, the call returns
 *                FERRUM_ERROR_INVALID_STATE.
 * @param shape,count  the length of each dimension. count is the number of dimensions, at
 *                most FERRUM_TENSOR_RANK_MAX; 0: one element. shape is not NULL.
 * @param stream  the first work on the memory is on this stream.
 * @return FERRUM_ERROR_INVALID_ARGUMENT for a shape, a type, or elements that do not fill
 *         whole blocks of the type; FERRUM_ERROR_OVERFLOW; errors of the memory.
 *
 * @opens
 * @optional stream
 * @go tensors.Create
 * @by-hand python,rust it makes an object
 */
FERRUM_API ferrum_status
ferrum_tensor_create(const ferrum_weights_memory *memory, ferrum_dtype dtype,
                     const int64_t *shape, uint64_t count, ferrum_stream stream,
                     ferrum_tensor *tensor_out);

/**
 * Makes a tensor over a block of a manager. While it exists, the block is pinned: it is not
 * moved, and ferrum_memory_free returns FERRUM_ERROR_BUSY. A block that was adopted as
 * read-only gives a read-only tensor.
 *
 * @param offset_bytes  place of the element whose indices are all 0.
 * @param desc  type, shape and strides. Its address is ignored.
 * @return FERRUM_ERROR_INVALID_ARGUMENT for the description;
 *         FERRUM_ERROR_INVALID_ALIGNMENT; FERRUM_ERROR_INVALID_OFFSET for elements outside
 *         of the block.
 *
 * @opens
 * @go tensors.FromMemory
 * @by-hand cpp,python,rust it makes an object
 */
FERRUM_API ferrum_status ferrum_tensor_from_memory(
    ferrum_memory memory, uint64_t offset_bytes, const ferrum_tensor_desc *desc,
    ferrum_tensor *tensor_out);

/**
 * Gives memory back to the program. Called once, after the last tensor over the memory has
 * ended and the work on it has run: in the call that ends the tensor, or on a thread of the
 * library. It may call the library, but not a function that waits for a stream, and not
 * ferrum_shutdown.
 */
typedef void (*ferrum_release_fn)(void *user_data);

/**
 * Makes a tensor over memory of the program, which must stay valid until release is called.
 *
 * @param address,size_bytes  the memory, as the device addresses it.
 * @param desc  type, shape, strides, and FERRUM_ELEMENTS_READ_ONLY for memory that must
 *                not be written. Its address is that of the element whose indices are all
 *                0; 0: address.
 * @param release  called once if this call succeeds. After an error it is never called.
 *                 NULL: the memory stays valid longer than all tensors over it.
 * @return FERRUM_ERROR_INVALID_ADDRESS for memory that cannot be read and written, as far
 *         as the device can check it; errors of ferrum_tensor_from_memory.
 *
 * @opens
 * @optional release
 * @go tensors.Wrap
 * @by-hand cpp,python,rust its callable lives as long as the memory
 */
FERRUM_API ferrum_status ferrum_tensor_wrap(
    ferrum_device device, ferrum_address address, uint64_t size_bytes,
    const ferrum_tensor_desc *desc, ferrum_release_fn release, void *user_data,
    ferrum_tensor *tensor_out);

/**
 * Makes a tensor over a loaded tensor of a set. While it exists, ferrum_tensor_set_free
 * without FERRUM_FORCE returns FERRUM_ERROR_BUSY. A mapped tensor is read-only and of the
 * first open host device.
 *
 * @return FERRUM_ERROR_INVALID_ARGUMENT for an index without a tensor, and for more than
 *         FERRUM_TENSOR_RANK_MAX dimensions; FERRUM_ERROR_INVALID_STATE while the load
 *         runs, and for a mapped tensor while no host device is open; the error of the
 *         load.
 *
 * @opens
 * @go tensors.FromSet
 * @by-hand cpp,python,rust it makes an object
 */
FERRUM_API ferrum_status ferrum_tensor_from_set(ferrum_tensor_set set,
                                                uint64_t index,
                                                ferrum_tensor *tensor_out);

/**
 * Makes a view that keeps some indices of a dimension.
 *
 * @param axis  the dimension; -1 is the last one.
 * @param start  the first index.
 * @param length  the number of indices.
 * @return FERRUM_ERROR_INVALID_ARGUMENT for the axis; FERRUM_ERROR_INVALID_OFFSET for
 *         indices that the dimension does not have; FERRUM_ERROR_UNSUPPORTED for a type
 *         with several elements in a block, if the view is not contiguous.
 *
 * @by-hand python,rust it makes an object
 */
FERRUM_API ferrum_status ferrum_tensor_narrow(ferrum_tensor tensor,
                                              int32_t axis, int64_t start,
                                              int64_t length,
                                              ferrum_tensor *view_out);

/**
 * Makes a view that keeps every step-th index of a dimension: start, start + step, and so
 * on. With a negative step the order of the indices is reversed.
 *
 * @param axis  the dimension; -1 is the last one.
 * @param start  the first index.
 * @param length  the number of indices of the view; 0: none, and start is at most the number
 *                of indices of the dimension.
 * @param step  the distance from one index to the next; not 0.
 * @return FERRUM_ERROR_INVALID_ARGUMENT for the axis and the step; FERRUM_ERROR_INVALID_OFFSET
 *         for indices that the dimension does not have; FERRUM_ERROR_UNSUPPORTED as for
 *         ferrum_tensor_narrow.
 *
 * @by-hand python,rust it makes an object
 */
FERRUM_API ferrum_status ferrum_tensor_slice(ferrum_tensor tensor, int32_t axis,
                                             int64_t start, int64_t length,
                                             int64_t step,
                                             ferrum_tensor *view_out);

/**
 * Makes a view with the dimensions in another order.
 *
 * @param axes,count  for each dimension of the view the dimension of the tensor. axes is
 *                not NULL.
 * @return FERRUM_ERROR_INVALID_ARGUMENT unless axes has each dimension once;
 *         FERRUM_ERROR_UNSUPPORTED as for ferrum_tensor_narrow.
 *
 * @by-hand python,rust it makes an object
 */
FERRUM_API ferrum_status ferrum_tensor_permute(ferrum_tensor tensor,
                                               const int32_t *axes,
                                               uint64_t count,
                                               ferrum_tensor *view_out);

/**
 * Makes a view with another shape of the same elements in the same order.
 *
 * @param shape,count  as for ferrum_tensor_create.
 * @return FERRUM_ERROR_INVALID_ARGUMENT for a shape with another number of elements;
 *         FERRUM_ERROR_UNSUPPORTED if no strides express the shape. A contiguous copy has
 *         every shape (ferrum_tensor_to).
 *
 * @by-hand python,rust it makes an object
 */
FERRUM_API ferrum_status ferrum_tensor_reshape(ferrum_tensor tensor,
                                               const int64_t *shape,
                                               uint64_t count,
                                               ferrum_tensor *view_out);

/**
 * Makes a view that repeats elements along new dimensions, and along dimensions of length
 * 1, as NumPy broadcasts. Its elements cannot be written if some are repeated.
 *
 * @param shape,count  as for ferrum_tensor_create.
 * @return FERRUM_ERROR_INVALID_ARGUMENT for a shape to which the tensor does not broadcast;
 *         FERRUM_ERROR_UNSUPPORTED as for ferrum_tensor_narrow.
 *
 * @by-hand python,rust it makes an object
 */
FERRUM_API ferrum_status ferrum_tensor_expand(ferrum_tensor tensor,
                                              const int64_t *shape,
                                              uint64_t count,
                                              ferrum_tensor *view_out);

/**
 * Queues a copy of the elements of a tensor to another tensor of the same shape on the same
 * device. Elements of another type are converted by the rules of docs/tensors.md.
 *
 * @return FERRUM_ERROR_INVALID_ARGUMENT for another shape, tensors that overlap, and a
 *         destination with repeated elements; FERRUM_ERROR_PERMISSION_DENIED for a
 *         read-only destination; FERRUM_ERROR_UNSUPPORTED_DEVICE for tensors of different
 *         devices (ferrum_tensor_to copies between devices); FERRUM_ERROR_UNSUPPORTED for
 *         types that are not converted, and for a device that cannot make the copy.
 *
 * @optional stream
 * @by-hand python,rust its class is written by hand
 */
FERRUM_API ferrum_status ferrum_tensor_copy(ferrum_tensor tensor,
                                            ferrum_tensor source,
                                            ferrum_stream stream);

/**
 * Makes a contiguous tensor with the same elements, of another type, in other memory, or
 * both. The copy is queued on stream if the memory is of the same device, and the device
 * can make the copy. Otherwise the elements go through memory of the host, and the call
 * waits for the work of the stream and for the copy.
 *
 * @param memory  as for ferrum_tensor_create. It may be of another device.
 * @param stream  a stream of the device of the tensor.
 * @return FERRUM_ERROR_UNSUPPORTED for types that are not converted; errors of
 *         ferrum_tensor_create, ferrum_tensor_copy and ferrum_tensor_read.
 *
 * @opens
 * @waits
 * @optional stream
 * @by-hand python,rust it makes an object
 */
FERRUM_API ferrum_status ferrum_tensor_to(ferrum_tensor tensor,
                                          const ferrum_weights_memory *memory,
                                          ferrum_dtype dtype,
                                          ferrum_stream stream,
                                          ferrum_tensor *tensor_out);

/**
 * Copies the elements to memory of the program, in the order of the shape and without gaps.
 * Waits for the work that is queued on the stream, and for the copy.
 *
 * @param size_bytes  exactly the size of the elements.
 * @return FERRUM_ERROR_INVALID_SIZE; FERRUM_ERROR_UNSUPPORTED for a device whose memory
 *         the host cannot address, if the elements lie in more than 4096 parts.
 *
 * @waits
 * @by-hand python,rust it takes memory of many kinds
 * @optional stream
 */
FERRUM_API ferrum_status ferrum_tensor_read(ferrum_tensor tensor,
                                            void *destination_out,
                                            uint64_t size_bytes,
                                            ferrum_stream stream);

/**
 * Copies memory of the program to the elements, in the order of the shape. Waits as
 * ferrum_tensor_read does.
 *
 * @param size_bytes  exactly the size of the elements.
 * @return FERRUM_ERROR_PERMISSION_DENIED for a read-only tensor;
 *         FERRUM_ERROR_INVALID_ARGUMENT for repeated elements; errors of
 *         ferrum_tensor_read.
 *
 * @waits
 * @by-hand python,rust it takes memory of many kinds
 * @optional stream
 */
FERRUM_API ferrum_status ferrum_tensor_write(ferrum_tensor tensor,
                                             const void *source,
                                             uint64_t size_bytes,
                                             ferrum_stream stream);

/**
 * Queues work that gives every element the value, converted to the type of the tensor.
 *
 * @return FERRUM_ERROR_UNSUPPORTED for a type to which numbers are not converted, and for
 *         elements in more than 4096 parts on a device whose memory the host cannot address;
 *         otherwise errors of ferrum_tensor_write.
 *
 * @optional stream
 * @by-hand python,rust its class is written by hand
 */
FERRUM_API ferrum_status ferrum_tensor_fill(ferrum_tensor tensor, double value,
                                            ferrum_stream stream);

/**
 * Describes a tensor. Works for a tensor whose memory sleeps.
 *
 * @by-hand python,rust shape and strides are lists
 */
FERRUM_API ferrum_status ferrum_tensor_describe(ferrum_tensor tensor,
                                                ferrum_tensor_desc *desc_out);

/**
 * Ends a tensor. Other tensors over the memory, and work that is queued, keep the memory.
 *
 * @return an error of the device that failed to free the memory; the tensor then stays and
 *         can be destroyed again.
 *
 * @ends
 */
FERRUM_API ferrum_status ferrum_tensor_destroy(ferrum_tensor tensor);

/** A tensor in the form of DLPack, with which libraries of tensors exchange memory.
 *  @by-hand python,rust a capsule, or an owner of one
 *  @go library.DLPack */
typedef struct ferrum_dlpack {
    uint32_t struct_size;
    /** 1: managed is a DLManagedTensorVersioned of DLPack 1; 0: a DLManagedTensor.
     *  @bool
     *  @go Versioned */
    uint32_t is_versioned;
    /** The struct of DLPack. Its receiver calls its deleter once. */
    void *managed;
} ferrum_dlpack;

/* clang-format off */
#define FERRUM_DLPACK_INIT {FERRUM_SIZE_OF(ferrum_dlpack), 0, NULL}
/* clang-format on */

/**
 * Exports a tensor to DLPack. The exported struct is a further view of the memory, until
 * its deleter is called. The deleter may be called on any thread, also after
 * ferrum_shutdown. The receiver orders its own work after the work that is queued.
 *
 * While the struct exists, it counts as a tensor: calls that destroy its memory without
 * FERRUM_FORCE return FERRUM_ERROR_BUSY. Memory that sleeps must not be accessed.
 *
 * @param is_versioned  1: export a DLManagedTensorVersioned; 0: a DLManagedTensor, the form
 *                of old receivers, which cannot state that memory is read-only.
 * @return FERRUM_ERROR_UNSUPPORTED for a type or a device that DLPack does not have, and
 *         for a read-only tensor in the old form; FERRUM_ERROR_BUSY while the memory
 *         sleeps.
 *
 * @bool is_versioned
 * @go .ToDLPack
 * @by-hand cpp,python,rust it makes an object
 */
FERRUM_API ferrum_status ferrum_tensor_to_dlpack(ferrum_tensor tensor,
                                                 uint32_t is_versioned,
                                                 ferrum_dlpack *dlpack_out);

/**
 * Makes a tensor over memory that another library has exported to DLPack. If the call
 * succeeds, the library owns the struct: it calls the deleter once, under the conditions of
 * ferrum_release_fn. After an error the caller still owns the struct.
 *
 * @param device  the open device of the memory; {0}: the open device that the struct names,
 *                for memory of the host the first open host device.
 * @return FERRUM_ERROR_NULL_POINTER for managed; FERRUM_ERROR_INVALID_ARGUMENT for its
 *         content, and for memory that is not of the device; FERRUM_ERROR_UNSUPPORTED for a
 *         version, a type or a device that the library does not know;
 *         FERRUM_ERROR_INVALID_STATE if the device is not open; errors of
 *         ferrum_tensor_wrap.
 *
 * @opens
 * @optional device
 * @go tensors.FromDLPack
 * @by-hand cpp,python,rust it makes an object
 */
FERRUM_API ferrum_status ferrum_tensor_from_dlpack(ferrum_device device,
                                                   const ferrum_dlpack *dlpack,
                                                   ferrum_tensor *tensor_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_TENSOR_H */
