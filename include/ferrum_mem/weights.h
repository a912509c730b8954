/*
 * Weights: open files of tensors, and load the tensors into memory of devices.
 * A part of ferrum_mem.h, which programs include, and which has the rules that hold for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_WEIGHTS_H
#define FERRUM_MEM_WEIGHTS_H

#include "base.h"
#include "callbacks.h"
#include "dtype.h"
#include "elastic.h"
#include "pools.h"
#include "virtual.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A source is a file, a folder, a checkpoint of several files, or memory. The call that
 * opens a source reads the headers and no tensor. A load reads all of its tensors into
 * memory, or none. docs/weights.md documents the formats, the types, and all JSON texts
 * of this section.
 *
 * The library does not trust a file: it bounds every length and number, compares the
 * header with the file, and runs no code that a file contains.
 */

/** An open source of tensors.
 *  @go loader.Weights */
typedef struct ferrum_weights {
    uint64_t id; /**< 0 is no source */
} ferrum_weights;

/** A load, and the tensors that it has loaded into memory.
 *  @go loader.TensorSet */
typedef struct ferrum_tensor_set {
    uint64_t id; /**< 0 is no set */
} ferrum_tensor_set;

/** Largest number of dimensions of a tensor. */
#define FERRUM_WEIGHTS_RANK_MAX 16
/** Largest size of the name of a tensor in a call, with its NUL. Longer names can be
 *  loaded, listed and found by index. */
#define FERRUM_WEIGHTS_NAME_MAX 1024
/** Largest size of each JSON text that a call of this section takes. */
#define FERRUM_WEIGHTS_JSON_MAX 16777216

/** Where a source is.
 *  @go library.SourceKind */
typedef int32_t ferrum_weights_source_kind;
/** A file, the index of several files, or a folder. */
#define FERRUM_WEIGHTS_SOURCE_FILE 0
/** The bytes of a file in memory of the caller. */
#define FERRUM_WEIGHTS_SOURCE_MEMORY 1
/** A web address. The library does not use the network, so the call returns
 *  FERRUM_ERROR_UNSUPPORTED. */
#define FERRUM_WEIGHTS_SOURCE_URL 2
/** A model of the Hugging Face hub. The call returns FERRUM_ERROR_UNSUPPORTED. */
#define FERRUM_WEIGHTS_SOURCE_HUGGING_FACE 3
/** An object of an S3 store. The call returns FERRUM_ERROR_UNSUPPORTED. */
#define FERRUM_WEIGHTS_SOURCE_S3 4

/** The format of a file of tensors.
 *  @go library.WeightsFormat */
typedef int32_t ferrum_weights_format;
/** The library detects the format from the content of the file. */
#define FERRUM_WEIGHTS_FORMAT_ANY 0
/** Files of torch.save. */
#define FERRUM_WEIGHTS_FORMAT_PYTORCH 1
/** Files of safetensors. */
#define FERRUM_WEIGHTS_FORMAT_SAFETENSORS 2
/** Files of NumPy: npy and npz. */
#define FERRUM_WEIGHTS_FORMAT_NUMPY 3
/** One tensor without a header. */
#define FERRUM_WEIGHTS_FORMAT_RAW 4
/** The initialisers of an ONNX model. */
#define FERRUM_WEIGHTS_FORMAT_ONNX 5
/** Files of GGUF. */
#define FERRUM_WEIGHTS_FORMAT_GGUF 6
/** The format of a decoder of the program. */
#define FERRUM_WEIGHTS_FORMAT_CUSTOM 7

/** The source to open.
 *  @by-hand python the arguments of Weights
 *  @by-hand rust refers to bytes of the caller
 *  @go library.WeightsSource */
typedef struct ferrum_weights_source {
    uint32_t struct_size;
    /** Where the source is. */
    ferrum_weights_source_kind kind;
    /** The path of a file or folder. For FERRUM_WEIGHTS_SOURCE_MEMORY: the name in
     *  messages, or NULL. For the other kinds: the address.
     *  @path */
    const char *path;
    /** The bytes, for FERRUM_WEIGHTS_SOURCE_MEMORY. They stay valid and unchanged
     *  until the source is closed. */
    const void *data;
    /** Number of bytes. */
    uint64_t data_bytes;
    /** The format that is accepted. */
    ferrum_weights_format format;
    /** The number of the decoder, for FERRUM_WEIGHTS_FORMAT_CUSTOM; otherwise 0. */
    uint32_t decoder;
    /** The type of the tensor, for FERRUM_WEIGHTS_FORMAT_RAW. */
    ferrum_dtype raw_dtype;
    /** Number of its dimensions. */
    uint32_t raw_rank;
    /** Its shape, the slowest dimension first. */
    uint64_t raw_shape[16];
} ferrum_weights_source;

/* clang-format off */
#define FERRUM_WEIGHTS_SOURCE_INIT {FERRUM_SIZE_OF(ferrum_weights_source), 0, NULL, NULL, 0, 0, 0, 0, 0, {0}}
/* clang-format on */

/**
 * Opens a source and reads its headers. The files stay open. So a later load reads the
 * same files, even if another file has replaced one under its name.
 *
 * @return FERRUM_ERROR_NOT_FOUND, FERRUM_ERROR_PERMISSION_DENIED and FERRUM_ERROR_IO
 *         for a file; FERRUM_ERROR_INVALID_FORMAT for its content;
 *         FERRUM_ERROR_UNSUPPORTED for a part of a format that the library does not
 *         read, and for sources that need the network; FERRUM_ERROR_INVALID_ARGUMENT
 *         for the settings, and for a file of a format that source does not accept.
 *
 * @opens
 * @go loader.Open
 * @by-hand python,rust it makes an object
 * @by-hand cpp the class of an open source has it
 */
FERRUM_API ferrum_status ferrum_weights_open(
    const ferrum_weights_source *source, ferrum_weights *weights_out);

/**
 * Opens a source and closes it again. Returns FERRUM_OK if the source can be loaded,
 * otherwise the error of ferrum_weights_open.
 *
 * @go loader.Check
 * @by-hand python,rust its settings have no record
 * @by-hand cpp the class of an open source has it
 */
FERRUM_API ferrum_status
ferrum_weights_check(const ferrum_weights_source *source);

/**
 * Closes a source. Sets keep their tensors.
 *
 * @param flags  0 or FERRUM_FORCE: loads and other calls that read the source are
 *               cancelled, and the call waits for them.
 * @return FERRUM_ERROR_BUSY while a load or another call reads the source;
 *         FERRUM_ERROR_INVALID_STATE for FERRUM_FORCE from a progress callback of
 *         such a load or call.
 *
 * @ends
 * @waits
 */
FERRUM_API ferrum_status ferrum_weights_close(ferrum_weights weights,
                                              uint32_t flags);

/**
 * Returns the content of the source, as JSON with the fields of docs/weights.md:
 * format, total_size_bytes, dtypes, tensors with their shapes, and extra.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 */
FERRUM_API ferrum_status ferrum_weights_metadata_json(ferrum_weights weights,
                                                      char *buffer,
                                                      size_t capacity,
                                                      size_t *length_out);

/**
 * Returns the formats and types that the library can load, as JSON with the fields of
 * docs/weights.md: supported_formats (with the formats of decoders), supported_sources,
 * max_tensor_size, supports_streaming, supports_concurrent and
 * supported_transformations.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 *
 * @go loader.CapabilitiesJSON
 */
FERRUM_API ferrum_status ferrum_weights_capabilities_json(char *buffer,
                                                          size_t capacity,
                                                          size_t *length_out);

/** The tensor has the memory of an earlier tensor of its set. */
#define FERRUM_TENSOR_TIED UINT32_C(1)
/** The bytes of the tensor are compressed in the file. */
#define FERRUM_TENSOR_COMPRESSED UINT32_C(2)

/** A tensor of a source or of a set.
 *  @by-hand python,rust its shape is a list
 *  @go library.TensorInfo */
typedef struct ferrum_tensor_info {
    uint32_t struct_size;
    /** Type of its elements. */
    ferrum_dtype dtype;
    /** Number of dimensions, at most FERRUM_WEIGHTS_RANK_MAX. */
    uint32_t rank;
    /** FERRUM_TENSOR_* flags.
     *  @flags FERRUM_TENSOR */
    uint32_t flags;
    /** Its shape, the slowest dimension first. */
    uint64_t shape[16];
    /** Address of its elements, which are in the order of the shape without gaps; 0
     *  for a tensor of a source, and for a tensor without elements.
     *  @none 0 */
    ferrum_address address;
    /** Size of its elements. */
    uint64_t size_bytes;
    /** Its device, such as "cpu:0"; for a mapped tensor "cpu:0"; empty for a tensor of
     *  a source.
     *  @optional */
    char device[64];
} ferrum_tensor_info;

/* clang-format off */
#define FERRUM_TENSOR_INFO_INIT {FERRUM_SIZE_OF(ferrum_tensor_info), 0, 0, 0, {0}, 0, 0, {0}}
/* clang-format on */

/**
 * Finds a tensor of a source by its name.
 *
 * @return FERRUM_ERROR_NOT_FOUND.
 *
 * @long name
 * @by-hand python,rust the shape is a list
 */
FERRUM_API ferrum_status ferrum_weights_find(ferrum_weights weights,
                                             const char *name,
                                             ferrum_tensor_info *info_out);

/** The progress of a load or of another call.
 *  @go weights.Progress */
typedef struct ferrum_weights_progress {
    uint32_t struct_size;
    /** 1 if a load has ended, with or without success, else 0.
     *  @bool
     *  @go IsOver */
    uint32_t is_over;
    /** Number of bytes that are done. */
    uint64_t done_bytes;
    /** Total number of bytes; 0 before it is known.
     *  @none 0 */
    uint64_t total_bytes;
    /** The mean rate since the beginning; 0 if it is not known.
     *  @none 0 */
    double bytes_per_second;
} ferrum_weights_progress;

/* clang-format off */
#define FERRUM_WEIGHTS_PROGRESS_INIT {FERRUM_SIZE_OF(ferrum_weights_progress), 0, 0, 0, 0}
/* clang-format on */

/**
 * Called while bytes are read or written, one call at a time, with no lock held. For a
 * load it runs on a thread of the library, otherwise on the thread of the call. It may
 * call every function of the library except ferrum_shutdown. A function that would wait
 * for the load or call of this callback returns FERRUM_ERROR_INVALID_STATE.
 *
 * @return 0 to continue; another number cancels the load or call, which then returns
 *         FERRUM_ERROR_CANCELLED, unless all bytes are done.
 */
typedef int32_t (*ferrum_weights_progress_fn)(
    const ferrum_weights_progress *progress, void *user_data);

/** Memory for the tensors of a load, or for one tensor (ferrum_tensor_create). Exactly one
 *  of pool, vpool, elastic_pool and device is set.
 *  @by-hand python,rust one of several objects
 *  @go library.TensorMemory */
typedef struct ferrum_weights_memory {
    /** Blocks of this pool.
     *  @optional */
    ferrum_pool pool;
    /** Pages of this virtual pool.
     *  @optional
     *  @go VPool */
    ferrum_vpool vpool;
    /** Pages of a model of this elastic pool.
     *  @optional */
    ferrum_elastic_pool elastic_pool;
    /** The library allocates no memory: each tensor on this device is loaded into
     *  memory of the caller ("into").
     *  @optional */
    ferrum_device device;
    /** The model, for elastic_pool only. */
    const char *model;
    /** Offset of the first page, for vpool only. */
    uint64_t offset_bytes;
    /** Tag of the memory, for sleep and reports; NULL: the name of the pool, or the id
     *  of the model. */
    const char *tag;
    uint64_t reserved;
} ferrum_weights_memory;

/** Largest number of memories of a load. */
#define FERRUM_WEIGHTS_MEMORIES_MAX 64

/** Map the files instead of copying their bytes. The tensors are the mapped pages and
 *  are read-only. The load is over when ferrum_weights_load returns. If a file becomes
 *  shorter, its lost pages read as zeros, and ferrum_tensor_set_check returns an error
 *  (docs/hosts.md). */
#define FERRUM_WEIGHTS_LOAD_MAP UINT32_C(1)
/** Only read the bytes of the tensors into the page cache of the system. The set has no
 *  tensors. ferrum_tensor_set_free releases the pages that the load has read; pages that
 *  were in the cache before stay there. */
#define FERRUM_WEIGHTS_LOAD_PRELOAD UINT32_C(2)

/** The tensors to load, and the memory for them.
 *  @by-hand go it has a function of the caller and a list of records
 *  @by-hand python the arguments of load()
 *  @by-hand rust owns a closure */
typedef struct ferrum_weights_load_request {
    uint32_t struct_size;
    /** FERRUM_WEIGHTS_LOAD_* flags.
     *  @flags FERRUM_WEIGHTS_LOAD */
    uint32_t flags;
    /** The memories. A tensor goes to the first memory, unless the order names another
     *  one. NULL with FERRUM_WEIGHTS_LOAD_MAP and FERRUM_WEIGHTS_LOAD_PRELOAD. */
    const ferrum_weights_memory *memories;
    /** Number of memories, at most FERRUM_WEIGHTS_MEMORIES_MAX. */
    uint32_t memory_count;
    /** Number of threads that read; 0: 8. More than 256 count as 256. */
    uint32_t threads;
    /** The order, as JSON with the fields of docs/weights.md: the tensors, their new
     *  names and their transformations; NULL: all tensors unchanged. */
    const char *specs_json;
    /** Length of specs_json, at most FERRUM_WEIGHTS_JSON_MAX. */
    uint64_t specs_bytes;
    /** Bound of the staging memory, at most 256 MiB; 0: 64 MiB. Tensors for a device
     *  whose memory the host cannot write go through this host memory. */
    uint64_t staging_bytes;
    /** Called during the load; NULL: not called. */
    ferrum_weights_progress_fn progress;
    /** Passed to progress; must stay valid until the load is over. */
    void *user_data;
} ferrum_weights_load_request;

/* clang-format off */
#define FERRUM_WEIGHTS_LOAD_REQUEST_INIT {FERRUM_SIZE_OF(ferrum_weights_load_request), 0, NULL, 0, 0, NULL, 0, 0, NULL, NULL}
/* clang-format on */

/**
 * Starts to load tensors. Before it returns, the call checks everything that can be
 * checked without allocating memory and without reading tensors. All tensors are loaded,
 * or none: after an error no memory stays allocated, and memory of the caller has
 * undefined content.
 *
 * While the set exists, a call that destroys one of its pools without FERRUM_FORCE
 * returns FERRUM_ERROR_BUSY. With FERRUM_FORCE, that call cancels the load first, and
 * frees the memory with the pool. The set then returns FERRUM_ERROR_INVALID_STATE for
 * its tensors, and must still be freed. The program must not free memory of a set
 * itself.
 *
 * @param set_out  the set. The caller frees it with ferrum_tensor_set_free, also
 *                after an error of the load.
 * @return FERRUM_ERROR_INVALID_ARGUMENT and FERRUM_ERROR_INVALID_SIZE for the request
 *         and the order; FERRUM_ERROR_NOT_FOUND for a tensor;
 *         FERRUM_ERROR_MODEL_NOT_FOUND; FERRUM_ERROR_UNSUPPORTED for a transformation,
 *         and for a tensor that cannot be mapped.
 *
 * @opens
 * @by-hand go it hands on a function of the caller
 * @by-hand cpp its callable has to live as long as the load
 * @by-hand python,rust it makes an object
 */
FERRUM_API ferrum_status ferrum_weights_load(
    ferrum_weights weights, const ferrum_weights_load_request *request,
    ferrum_tensor_set *set_out);

/**
 * Waits until the load is over, and returns its result.
 *
 * @return FERRUM_ERROR_TIMEOUT; FERRUM_ERROR_CANCELLED after a cancel; otherwise the
 *         error of the load, such as FERRUM_ERROR_OUT_OF_MEMORY of its memory, or
 *         FERRUM_ERROR_IO for a file that became shorter; FERRUM_ERROR_INVALID_STATE
 *         inside the progress callback of the load.
 *
 * @waits
 */
FERRUM_API ferrum_status ferrum_tensor_set_wait(ferrum_tensor_set set,
                                                uint64_t timeout_ns);

/** Makes the load end soon. Has no effect if the load is over.
 *  @infallible */
FERRUM_API ferrum_status ferrum_tensor_set_cancel(ferrum_tensor_set set);

/** Returns the progress of the load. Never waits.
 *  @infallible */
FERRUM_API ferrum_status ferrum_tensor_set_get_progress(
    ferrum_tensor_set set, ferrum_weights_progress *progress_out);

/**
 * Returns the number of tensors.
 *
 * @return FERRUM_ERROR_INVALID_STATE while the load runs; its error after a failure.
 */
FERRUM_API ferrum_status ferrum_tensor_set_get_count(ferrum_tensor_set set,
                                                     uint64_t *count_out);

/**
 * Returns a tensor by its index in the order of the load, from 0 on.
 *
 * @return FERRUM_ERROR_INVALID_ARGUMENT for an index without a tensor; errors of
 *         ferrum_tensor_set_get_count.
 *
 * @by-hand python,rust the shape is a list
 */
FERRUM_API ferrum_status ferrum_tensor_set_get_tensor(
    ferrum_tensor_set set, uint64_t index, ferrum_tensor_info *info_out);

/**
 * Returns the name of a tensor by its index.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 * @return errors of ferrum_tensor_set_get_tensor.
 */
FERRUM_API ferrum_status ferrum_tensor_set_get_tensor_name(
    ferrum_tensor_set set, uint64_t index, char *buffer, size_t capacity,
    size_t *length_out);

/**
 * Finds a tensor of a set by its name.
 *
 * @return FERRUM_ERROR_NOT_FOUND; errors of ferrum_tensor_set_get_count.
 *
 * @long name
 * @by-hand python,rust the shape is a list
 */
FERRUM_API ferrum_status ferrum_tensor_set_find(ferrum_tensor_set set,
                                                const char *name,
                                                ferrum_tensor_info *info_out);

/**
 * Returns all tensors of a set in their order, as JSON with the fields of
 * docs/weights.md.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 * @return errors of ferrum_tensor_set_get_count.
 */
FERRUM_API ferrum_status ferrum_tensor_set_tensors_json(ferrum_tensor_set set,
                                                        char *buffer,
                                                        size_t capacity,
                                                        size_t *length_out);

/**
 * Checks that no file of a mapped set has become shorter. For a set that is not mapped
 * the check always succeeds.
 *
 * @return FERRUM_ERROR_IO, which names a file that became shorter; errors of
 *         ferrum_tensor_set_get_count.
 */
FERRUM_API ferrum_status ferrum_tensor_set_check(ferrum_tensor_set set);

/**
 * Ends a set and frees the memory that its load has allocated. Memory of the caller is
 * not freed. The program's work on the tensors must be complete, or its streams must be
 * recorded for the memory.
 *
 * @param flags  0 or FERRUM_FORCE: a running load is cancelled, and the call waits
 *               for it. If the device fails to free memory, the failure is logged and
 *               the memory stays allocated.
 * @return FERRUM_ERROR_BUSY while the load runs; FERRUM_ERROR_INVALID_STATE for
 *         FERRUM_FORCE inside the progress callback of the load; an error of the
 *         device, after which the set stays and can be freed again.
 *
 * @ends
 * @waits
 */
FERRUM_API ferrum_status ferrum_tensor_set_free(ferrum_tensor_set set,
                                                uint32_t flags);

/**
 * Reads all files of a source and returns their SHA-256 sums, as JSON with the fields
 * of docs/weights.md. With sums_text it compares them with that list, by the names of
 * the files without folders. Each file must be in the list; the list may have more
 * files.
 *
 * @param sums_text  lines of the form that sha256sum prints, or NULL.
 * @param sums_bytes  its length, at most FERRUM_WEIGHTS_JSON_MAX.
 * @param progress  called on the thread of the call; NULL: not called.
 * @param buffer,capacity,length_out  as for ferrum_backends_json. The length is the
 *                same for every content: with capacity 0, or a buffer that is too
 *                small, no file is read.
 * @return FERRUM_ERROR_CORRUPTED for a file with another sum;
 *         FERRUM_ERROR_NOT_FOUND for a file that the list does not have;
 *         FERRUM_ERROR_INVALID_FORMAT for a line of another form;
 *         FERRUM_ERROR_IO; FERRUM_ERROR_CANCELLED.
 *
 * @optional sums_text
 * @optional progress
 * @by-hand go it hands on a function of the caller
 * @by-hand cpp its callable is an object of the program
 * @by-hand python,rust its callable is an object of the program
 */
FERRUM_API ferrum_status ferrum_weights_verify(
    ferrum_weights weights, const char *sums_text, size_t sums_bytes,
    ferrum_weights_progress_fn progress, void *user_data, char *buffer,
    size_t capacity, size_t *length_out);

/** Replace an existing file of that name. */
#define FERRUM_WEIGHTS_CONVERT_REPLACE UINT32_C(1)

/** How a source is converted.
 *  @by-hand go it has a function of the caller
 *  @by-hand python the arguments of convert()
 *  @by-hand rust owns a closure */
typedef struct ferrum_weights_convert_request {
    uint32_t struct_size;
    /** FERRUM_WEIGHTS_FORMAT_SAFETENSORS, FERRUM_WEIGHTS_FORMAT_GGUF,
     *  FERRUM_WEIGHTS_FORMAT_NUMPY or FERRUM_WEIGHTS_FORMAT_RAW;
     *  FERRUM_WEIGHTS_FORMAT_ANY: the ending of the path determines the format. */
    ferrum_weights_format format;
    /** FERRUM_WEIGHTS_CONVERT_* flags.
     *  @flags FERRUM_WEIGHTS_CONVERT */
    uint32_t flags;
    uint32_t reserved;
    /** The order, as for a load. The call ignores its memories. NULL: all tensors. */
    const char *specs_json;
    /** Length of specs_json, at most FERRUM_WEIGHTS_JSON_MAX. */
    uint64_t specs_bytes;
    /** The metadata of the file: a JSON object of texts; NULL: none. */
    const char *texts_json;
    /** Length of texts_json, at most FERRUM_WEIGHTS_JSON_MAX. */
    uint64_t texts_bytes;
    /** Called on the thread of the call; NULL: not called. */
    ferrum_weights_progress_fn progress;
    /** Passed to progress. */
    void *user_data;
} ferrum_weights_convert_request;

/* clang-format off */
#define FERRUM_WEIGHTS_CONVERT_REQUEST_INIT {FERRUM_SIZE_OF(ferrum_weights_convert_request), 0, 0, 0, NULL, 0, NULL, 0, NULL, NULL}
/* clang-format on */

/**
 * Writes tensors of a source to a file. A model of any size needs only a few megabytes
 * of memory. The file gets its name when it is complete. After an error no part of it
 * is left.
 *
 * @param path  the file, shorter than FERRUM_PATH_MAX.
 * @param request  the settings, or NULL for FERRUM_WEIGHTS_CONVERT_REQUEST_INIT.
 * @return FERRUM_ERROR_ALREADY_EXISTS; FERRUM_ERROR_UNSUPPORTED for a format that the
 *         library cannot write, and for a type that the format does not have;
 *         FERRUM_ERROR_RESOURCE_EXHAUSTED for a disk without enough free space;
 *         FERRUM_ERROR_CANCELLED; errors of ferrum_weights_load for the order, and of
 *         ferrum_weights_open for the file.
 *
 * @optional request
 * @path path
 * @by-hand go it hands on a function of the caller
 * @by-hand cpp its callable is an object of the program
 * @by-hand python,rust its callable is an object of the program
 */
FERRUM_API ferrum_status
ferrum_weights_convert(ferrum_weights weights, const char *path,
                       const ferrum_weights_convert_request *request);

/** Reads bytes of the file that a decoder describes.
 *
 * @return FERRUM_ERROR_INVALID_SIZE for bytes beyond the end of the file;
 *         FERRUM_ERROR_IO; FERRUM_ERROR_INVALID_HANDLE if the callback that received
 *         the file has returned.
 */
typedef ferrum_status (*ferrum_weights_read_at_fn)(uint64_t file,
                                                   uint64_t offset_bytes,
                                                   void *destination_out,
                                                   uint64_t size_bytes);

/** Takes the description of the file, as JSON with the fields of docs/weights.md. The
 *  library copies the text, and checks it after the callback has returned.
 *
 * @return FERRUM_ERROR_INVALID_SIZE for a text that is longer than
 *         FERRUM_WEIGHTS_JSON_MAX; FERRUM_ERROR_INVALID_HANDLE as for reading.
 */
typedef ferrum_status (*ferrum_weights_describe_fn)(uint64_t file,
                                                    const char *json,
                                                    uint64_t json_bytes);

/** A file whose format a decoder of the program reads.
 *  @by-hand go it has functions of the library
 *  @by-hand python,rust it is an object */
typedef struct ferrum_weights_file {
    uint32_t struct_size;
    uint32_t reserved;
    /** Its number, for read_at and describe; valid during the callback. */
    uint64_t file;
    /** Its length. */
    uint64_t size_bytes;
    /** Its path, or the name of the memory. */
    const char *name;
    /** Reads bytes of the file. */
    ferrum_weights_read_at_fn read_at;
    /** Takes a description of the file. The last description counts. */
    ferrum_weights_describe_fn describe;
} ferrum_weights_file;

/* clang-format off */
#define FERRUM_WEIGHTS_FILE_INIT {FERRUM_SIZE_OF(ferrum_weights_file), 0, 0, 0, NULL, NULL, NULL}
/* clang-format on */

/**
 * Returns whether a file is of the format of a decoder. Runs on the thread of the call
 * that opens the file, with no lock held.
 *
 * @param start  the first bytes of the file, at most 4096.
 * @return 0 if it is not.
 */
typedef int32_t (*ferrum_weights_recognises_fn)(const void *start,
                                                size_t start_bytes,
                                                uint64_t file_bytes,
                                                void *user_data);

/**
 * Describes a file of the format of a decoder. The callback reads bytes of the file with
 * file->read_at, and calls file->describe. It runs as ferrum_weights_recognises_fn does.
 * The library compares the description with the file, and reads the tensors itself.
 *
 * @return FERRUM_OK, or an error, which the call that opens the file returns.
 */
typedef ferrum_status (*ferrum_weights_decode_fn)(
    const ferrum_weights_file *file, void *user_data);

/** A decoder of a format of the program.
 *  @by-hand go it has functions of the caller
 *  @by-hand python the arguments of add_decoder()
 *  @by-hand rust owns closures */
typedef struct ferrum_weights_decoder {
    uint32_t struct_size;
    uint32_t reserved;
    /** Name of the format, 1 to 63 bytes. No other format has this name. */
    const char *format;
    /** Recognises a file. */
    ferrum_weights_recognises_fn recognises;
    /** Describes a file. */
    ferrum_weights_decode_fn decode;
    /** Passed to both; must stay valid until the registration is removed. */
    void *user_data;
} ferrum_weights_decoder;

/* clang-format off */
#define FERRUM_WEIGHTS_DECODER_INIT {FERRUM_SIZE_OF(ferrum_weights_decoder), 0, NULL, NULL, NULL, NULL}
/* clang-format on */

/**
 * Registers a decoder of another format. The formats of the library have precedence: the
 * library calls the decoders only for a file that begins as none of its own formats, in
 * the order of registration. Several threads may call a decoder at a time.
 * ferrum_registration_remove removes the decoder; open sources stay open.
 *
 * @param number_out  its number, for ferrum_weights_source.
 * @return FERRUM_ERROR_ALREADY_EXISTS for the name of another format;
 *         FERRUM_ERROR_NULL_POINTER for a function.
 *
 * @by-hand go it hands on functions of the caller
 * @by-hand cpp its callables are objects of the program
 * @by-hand python,rust its callables are objects of the program
 */
FERRUM_API ferrum_status ferrum_weights_decoder_add(
    const ferrum_weights_decoder *decoder, uint32_t *number_out,
    ferrum_registration *registration_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_WEIGHTS_H */
