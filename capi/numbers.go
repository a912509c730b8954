package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/vmm"
)

// The states have the numbers of the header. Other numbers would not compile.
var (
	_ = [1]struct{}{}[pool.BlockLive-C.FERRUM_BLOCK_LIVE]
	_ = [1]struct{}{}[pool.BlockInFlight-C.FERRUM_BLOCK_IN_FLIGHT]
	_ = [1]struct{}{}[pool.BlockCached-C.FERRUM_BLOCK_CACHED]
	_ = [1]struct{}{}[pool.BlockFree-C.FERRUM_BLOCK_FREE]
	_ = [1]struct{}{}[pool.BlockUnusable-C.FERRUM_BLOCK_UNUSABLE]
)

// The backings and bounds have the numbers of the header. Other numbers would not compile.
var (
	_ = [1]struct{}{}[vmm.SleepToHost-C.FERRUM_SLEEP_HOST]
	_ = [1]struct{}{}[vmm.SleepToFile-C.FERRUM_SLEEP_FILE]
	_ = [1]struct{}{}[vmm.SleepDiscard-C.FERRUM_SLEEP_DISCARD]
	_ = [1]struct{}{}[library.BlockAsleep-C.FERRUM_BLOCK_ASLEEP]
)

// The backings have the numbers of the header. Other numbers would not compile.
var (
	_ = [1]struct{}{}[device.BackingMovable-C.FERRUM_BACKING_MOVABLE]
	_ = [1]struct{}{}[device.BackingPrivate-C.FERRUM_BACKING_PRIVATE]
	_ = [1]struct{}{}[device.BackingRDMA-C.FERRUM_BACKING_RDMA]
	_ = [1]struct{}{}[device.BackingFabric-C.FERRUM_BACKING_FABRIC]
)
