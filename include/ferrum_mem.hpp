/*
 * ferrum_mem for C++17: owning types over the C ABI, header-only.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every call that can fail comes twice: `name(...)` throws ferrum::error, and
 * `try_name(...)` returns a ferrum::result, which holds the value or the error.
 * Objects own their handle, move and do not copy; a destructor destroys with
 * FERRUM_FORCE, so that it always ends, and `release()` gives the handle up.
 * Where a call takes a handle, an object of its class will do. What a call means, its
 * errors and its threads stand in ferrum_mem.h. A class has its simple calls from
 * ferrum_mem/calls/, which are generated; this side has what owns, moves and calls back.
 */
#ifndef FERRUM_MEM_HPP
#define FERRUM_MEM_HPP

#include "ferrum_mem/calls/functions.hpp"
#include "ferrum_mem/device.hpp"
#include "ferrum_mem/elastic_pool.hpp"
#include "ferrum_mem/event.hpp"
#include "ferrum_mem/fallback_buffer.hpp"
#include "ferrum_mem/fallback_manager.hpp"
#include "ferrum_mem/generic_pool.hpp"
#include "ferrum_mem/library.hpp"
#include "ferrum_mem/manager.hpp"
#include "ferrum_mem/memory.hpp"
#include "ferrum_mem/memory_config.hpp"
#include "ferrum_mem/monitor.hpp"
#include "ferrum_mem/placement.hpp"
#include "ferrum_mem/pool.hpp"
#include "ferrum_mem/pool_block.hpp"
#include "ferrum_mem/pool_resource.hpp"
#include "ferrum_mem/registration.hpp"
#include "ferrum_mem/stream.hpp"
#include "ferrum_mem/tracker.hpp"
#include "ferrum_mem/vpool.hpp"

#endif /* FERRUM_MEM_HPP */
