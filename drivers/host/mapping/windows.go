//go:build windows

package mapping

// The host backend needs mmap, mprotect and files in memory of a Unix system. A build for
// Windows stops here, with this name as its one error.
var _ = the_host_backend_of_ferrum_mem_needs_a_unix_system_and_does_not_build_for_windows //nolint:revive // read in the compiler's error
