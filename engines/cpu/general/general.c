//go:build cgo && (amd64 || arm64) && !windows

#include "general.h"
#include "normalisation.h"
#include "product.h"
#include "reduction.h"
#include "scores.h"

const struct fk_kernel fk_generals[FK_GENERALS] = {
    [FK_GENERAL_MATMUL] = {fk_general_matmul_parts, fk_nothing,
                           fk_general_matmul_run, NULL},
    [FK_GENERAL_MAP] = {fk_general_map_parts, fk_nothing, fk_general_map_run,
                        NULL},
    [FK_GENERAL_ROWS] = {fk_general_rows_parts, fk_nothing, fk_general_rows_run,
                         NULL},
    [FK_GENERAL_ATTENTION] = {fk_general_attention_parts,
                              fk_general_attention_workspace,
                              fk_general_attention_run, fk_attention_check},
    [FK_GENERAL_REDUCE] = {fk_general_reduce_parts, fk_nothing,
                           fk_general_reduce_run, NULL},
    [FK_GENERAL_TOP] = {fk_general_top_parts, fk_top_workspace,
                        fk_general_top_run, NULL},
};
