//go:build cgo && arm64 && !windows

#define FK_TABLE fk_table_neon

#include "../kernels/table.h"
