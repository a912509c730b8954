/* Small files of weights, and loads of them, for the tests of weights. */
#ifndef FERRUM_TESTS_WEIGHT_FILES_H
#define FERRUM_TESTS_WEIGHT_FILES_H

#include "ferrum_mem.h"

/** Writes a file of safetensors with three tensors: "a", f32 [2, 3] with the
 *  values 0 to 5; "b", i64 [2] with 7 and -8; "big", u8 [big_bytes] with the
 *  numbers of its elements, modulo 251. */
void weight_file_write(const char *path, uint64_t big_bytes);
/** Creates a folder and writes such a file there. Both paths are filled.
 *  Returns 0, or 1 if there is no folder. */
int weight_folder_make(char folder[64], char file[96], uint64_t big_bytes);
/** Removes the file and the folder. Returns 0 if nothing else was in it. */
int weight_folder_end(const char *folder, const char *file);
/** Opens a file. */
ferrum_weights weight_file_open(const char *path);
/** Starts a load into a pool with an order; NULL: all tensors. */
ferrum_status weight_file_load(ferrum_weights weights, ferrum_pool pool,
                               const char *order, ferrum_tensor_set *set_out);
/** The number of objects of a kind in the leak report, such as "block". */
int weight_leaks(const char *kind);

#endif
