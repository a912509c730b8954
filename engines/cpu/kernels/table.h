/*
 * The table of one instruction set. A file of each set includes this one, and
 * names the table with FK_TABLE.
 */
#ifndef FK_TABLE_H
#define FK_TABLE_H

#include "attention.h"
#include "data.h"
#include "few.h"
#include "reduce.h"
#include "rotary.h"
#include "top.h"
#include "where.h"

const struct fk_table FK_TABLE = {
    .kernels =
        {
            [FK_KERNEL_MATMUL] = {fk_matmul_parts, fk_matmul_workspace,
                                  fk_matmul_run, NULL},
            [FK_KERNEL_PACK] = {fk_pack_parts, fk_no_workspace, fk_pack_run,
                                NULL},
            [FK_KERNEL_MAP] = {fk_map_parts, fk_no_workspace, fk_map_run_part,
                               NULL},
            [FK_KERNEL_ROWS] = {fk_rows_parts, fk_no_workspace, fk_rows_run,
                                NULL},
            [FK_KERNEL_ATTENTION] = {fk_attention_parts, fk_attention_workspace,
                                     fk_attention_run, fk_attention_check},
            [FK_KERNEL_FEW] = {fk_one_part, fk_attention_workspace, fk_few_run,
                               NULL},
            [FK_KERNEL_COPY] = {fk_copy_parts, fk_no_workspace, fk_copy_run,
                                NULL},
            [FK_KERNEL_GATHER] = {fk_gather_parts, fk_no_workspace,
                                  fk_gather_run, fk_gather_check},
            [FK_KERNEL_REDUCE] = {fk_reduce_parts, fk_no_workspace,
                                  fk_reduce_run, NULL},
            [FK_KERNEL_ROTARY] = {fk_rotary_parts, fk_no_workspace,
                                  fk_rotary_run, fk_rotary_check},
            [FK_KERNEL_WHERE] = {fk_where_parts, fk_no_workspace, fk_where_run,
                                 NULL},
            [FK_KERNEL_TOP] = {fk_top_parts, fk_top_workspace, fk_top_run,
                               NULL},
        },
    .packed_bytes = fk_packed_bytes,
};

#endif
