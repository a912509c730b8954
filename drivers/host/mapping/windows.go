//go:build windows

package mapping

// The host backend needs mmap, mprotect and memory files of a Unix system. A build for
// Windows fails here, with this name as its only error.
var _ = the_host_backend_of_ferrum_mem_needs_a_unix_system_and_does_not_build_for_windows //nolint:revive // read in the compiler's error
