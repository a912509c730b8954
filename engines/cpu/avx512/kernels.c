//go:build cgo && amd64 && !windows

#define FK_TABLE fk_table_avx512

#include "../kernels/table.h"
