/* The functions of a program that read, convert and describe files of
 * weights. */
#include "_cgo_export.h"
#include "guard.h"

static ferrum_status weights_read_at(uint64_t file, uint64_t offset_bytes,
                                     void *destination_out,
                                     uint64_t size_bytes) {
    FM_ENTER();
    FM_REQUIRE(destination_out);
    FM_RETURN(fmgo_weights_file_read(file, offset_bytes,
                                     (char *)destination_out, size_bytes));
}

static ferrum_status weights_describe(uint64_t file, const char *json,
                                      uint64_t json_bytes) {
    FM_ENTER();
    FM_REQUIRE(json);
    FM_RETURN(fmgo_text_state(file, (char *)json, json_bytes));
}

int32_t fm_call_weights_progress(ferrum_weights_progress_fn progress,
                                 ferrum_weights_progress *now,
                                 uintptr_t user_data, uint64_t *tokens,
                                 size_t token_count) {
    now->struct_size = sizeof *now;
    struct fm_mark mark;
    fm_mark_work(&mark, tokens, token_count);
    int32_t stops = progress(now, (void *)user_data);
    fm_mark_restore(&mark);
    return stops;
}

int32_t fm_call_weights_recognises(ferrum_weights_recognises_fn recognises,
                                   void *start, size_t start_bytes,
                                   uint64_t file_bytes, uintptr_t user_data,
                                   uint64_t token) {
    struct fm_mark mark;
    fm_mark_work(&mark, &token, 1);
    int32_t is = recognises(start, start_bytes, file_bytes, (void *)user_data);
    fm_mark_restore(&mark);
    return is;
}

ferrum_status fm_call_weights_decode(ferrum_weights_decode_fn decode,
                                     uint64_t file, uint64_t size_bytes,
                                     char *name, uintptr_t user_data,
                                     uint64_t token) {
    ferrum_weights_file given = FERRUM_WEIGHTS_FILE_INIT;
    given.file = file;
    given.size_bytes = size_bytes;
    given.name = name;
    given.read_at = weights_read_at;
    given.describe = weights_describe;
    struct fm_mark mark;
    fm_mark_work(&mark, &token, 1);
    ferrum_status status = decode(&given, (void *)user_data);
    fm_mark_restore(&mark);
    return status;
}
