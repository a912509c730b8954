//go:build cgo && amd64 && !windows

#define FK_TABLE fk_table_avx2

#include "../kernels/table.h"
