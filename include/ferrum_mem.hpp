/*
 * ferrum_mem for C++17: owning types over the C ABI, header-only.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every call that can fail has two forms: `name(...)` throws ferrum::error, and
 * `try_name(...)` returns a ferrum::result with the value or the error. Objects own their
 * handle. They can be moved and not copied. A destructor destroys with FERRUM_FORCE, so
 * that it always succeeds, and `release()` returns the handle without destroying it. A
 * call that takes a handle also accepts an object of its class. ferrum_mem.h describes
 * the meaning, the errors and the threading of each call. The simple calls of a class are
 * generated, in ferrum_mem/calls/. The files here contain ownership, moves and callbacks.
 */
#ifndef FERRUM_MEM_HPP
#define FERRUM_MEM_HPP

#include "ferrum_mem/calls/functions.hpp"
#include "ferrum_mem/compute.hpp"
#include "ferrum_mem/compute_backend.hpp"
#include "ferrum_mem/device.hpp"
#include "ferrum_mem/elastic_pool.hpp"
#include "ferrum_mem/event.hpp"
#include "ferrum_mem/executor.hpp"
#include "ferrum_mem/fallback_buffer.hpp"
#include "ferrum_mem/fallback_manager.hpp"
#include "ferrum_mem/generic_pool.hpp"
#include "ferrum_mem/kv_cache.hpp"
#include "ferrum_mem/layer.hpp"
#include "ferrum_mem/library.hpp"
#include "ferrum_mem/manager.hpp"
#include "ferrum_mem/memory.hpp"
#include "ferrum_mem/memory_config.hpp"
#include "ferrum_mem/monitor.hpp"
#include "ferrum_mem/optimization_pass.hpp"
#include "ferrum_mem/placement.hpp"
#include "ferrum_mem/pool.hpp"
#include "ferrum_mem/pool_block.hpp"
#include "ferrum_mem/pool_resource.hpp"
#include "ferrum_mem/program_function.hpp"
#include "ferrum_mem/registration.hpp"
#include "ferrum_mem/sequence.hpp"
#include "ferrum_mem/stream.hpp"
#include "ferrum_mem/tensor.hpp"
#include "ferrum_mem/tensor_set.hpp"
#include "ferrum_mem/tracker.hpp"
#include "ferrum_mem/vpool.hpp"
#include "ferrum_mem/weights.hpp"

#endif /* FERRUM_MEM_HPP */
