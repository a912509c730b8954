/*
 * The types of the elements of tensors and buffers.
 * A part of ferrum_mem.h, which programs include, and which has the rules that hold for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_DTYPE_H
#define FERRUM_MEM_DTYPE_H

#include "base.h"

/** Type of the elements of a tensor or a buffer. */
typedef int32_t ferrum_dtype;
/** 32-bit floating point. */
#define FERRUM_DTYPE_F32 0
/** 16-bit floating point. */
#define FERRUM_DTYPE_F16 1
/** 16-bit floating point with the exponent of the 32-bit type (bfloat16). */
#define FERRUM_DTYPE_BF16 2
/** 64-bit floating point. */
#define FERRUM_DTYPE_F64 3
/** 8-bit floating point with 4 bits of exponent (f8_e4m3, E4M3FN). */
#define FERRUM_DTYPE_F8 4
/** 8-bit signed integer. */
#define FERRUM_DTYPE_I8 5
/** 8-bit unsigned integer. */
#define FERRUM_DTYPE_U8 6
/** 16-bit signed integer. */
#define FERRUM_DTYPE_I16 7
/** 32-bit signed integer. */
#define FERRUM_DTYPE_I32 8
/** 64-bit signed integer. */
#define FERRUM_DTYPE_I64 9
/** 16-bit unsigned integer. */
#define FERRUM_DTYPE_U16 10
/** 32-bit unsigned integer. */
#define FERRUM_DTYPE_U32 11
/** 64-bit unsigned integer. */
#define FERRUM_DTYPE_U64 12
/** One byte, 0 or 1. */
#define FERRUM_DTYPE_BOOL 13
/** 8-bit floating point with 5 bits of exponent. */
#define FERRUM_DTYPE_F8_E5M2 14
/** 8-bit exponent without a mantissa, for scales. */
#define FERRUM_DTYPE_F8_E8M0 15
/** 4-bit floating point, two in a byte. */
#define FERRUM_DTYPE_F4_E2M1 16
/** 4-bit signed integer, two in a byte. */
#define FERRUM_DTYPE_I4 17
/** 4-bit unsigned integer, two in a byte. */
#define FERRUM_DTYPE_U4 18
/** Complex number of two 32-bit floating-point numbers. */
#define FERRUM_DTYPE_C64 19
/** 6-bit floating point with 2 bits of exponent, four in three bytes. */
#define FERRUM_DTYPE_F6_E2M3 20
/** 6-bit floating point with 3 bits of exponent, four in three bytes. */
#define FERRUM_DTYPE_F6_E3M2 21
/** f8_e4m3 with one NaN and no negative zero. */
#define FERRUM_DTYPE_F8_E4M3FNUZ 22
/** f8_e5m2 with one NaN and no negative zero. */
#define FERRUM_DTYPE_F8_E5M2FNUZ 23
/** Blocks of GGUF: 32 elements in 18 bytes. */
#define FERRUM_DTYPE_Q4_0 258
/** Blocks of GGUF: 32 elements in 20 bytes. */
#define FERRUM_DTYPE_Q4_1 259
/** Blocks of GGUF: 32 elements in 22 bytes. */
#define FERRUM_DTYPE_Q5_0 262
/** Blocks of GGUF: 32 elements in 24 bytes. */
#define FERRUM_DTYPE_Q5_1 263
/** Blocks of GGUF: 32 elements in 34 bytes. */
#define FERRUM_DTYPE_Q8_0 264
/** Blocks of GGUF: 256 elements in 84 bytes. */
#define FERRUM_DTYPE_Q2_K 266
/** Blocks of GGUF: 256 elements in 110 bytes. */
#define FERRUM_DTYPE_Q3_K 267
/** Blocks of GGUF: 256 elements in 144 bytes. */
#define FERRUM_DTYPE_Q4_K 268
/** Blocks of GGUF: 256 elements in 176 bytes. */
#define FERRUM_DTYPE_Q5_K 269
/** Blocks of GGUF: 256 elements in 210 bytes. */
#define FERRUM_DTYPE_Q6_K 270
/** Blocks of GGUF: 256 elements in 292 bytes. */
#define FERRUM_DTYPE_Q8_K 271
/** Blocks of GGUF: 256 elements in 66 bytes. */
#define FERRUM_DTYPE_IQ2_XXS 272
/** Blocks of GGUF: 256 elements in 74 bytes. */
#define FERRUM_DTYPE_IQ2_XS 273
/** Blocks of GGUF: 256 elements in 98 bytes. */
#define FERRUM_DTYPE_IQ3_XXS 274
/** Blocks of GGUF: 256 elements in 50 bytes. */
#define FERRUM_DTYPE_IQ1_S 275
/** Blocks of GGUF: 32 elements in 18 bytes. */
#define FERRUM_DTYPE_IQ4_NL 276
/** Blocks of GGUF: 256 elements in 110 bytes. */
#define FERRUM_DTYPE_IQ3_S 277
/** Blocks of GGUF: 256 elements in 82 bytes. */
#define FERRUM_DTYPE_IQ2_S 278
/** Blocks of GGUF: 256 elements in 136 bytes. */
#define FERRUM_DTYPE_IQ4_XS 279
/** Blocks of GGUF: 256 elements in 56 bytes. */
#define FERRUM_DTYPE_IQ1_M 285
/** Blocks of GGUF: 256 elements in 54 bytes. */
#define FERRUM_DTYPE_TQ1_0 290
/** Blocks of GGUF: 256 elements in 66 bytes. */
#define FERRUM_DTYPE_TQ2_0 291
/** Blocks of GGUF: 32 elements in 17 bytes. */
#define FERRUM_DTYPE_MXFP4 295
/** Blocks of GGUF: 64 elements in 36 bytes. */
#define FERRUM_DTYPE_NVFP4 296
/** Blocks of GGUF: 128 elements in 18 bytes. */
#define FERRUM_DTYPE_Q1_0 297

#endif /* FERRUM_MEM_DTYPE_H */
