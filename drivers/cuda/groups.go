package cuda

import "ferrum_mem/internal/dl"

// Groups of functions that a vendor driver may lack.
const (
	_ dl.Group = iota
	// Header 13 has only the newer form of this function. Either form is enough.
	groupUUID
	groupUUID2
	groupTimes
	groupTimes2
	groupGreen
	groupCaptureInfo3
	groupID
	groupPinned
	groupVirtual
	groupPeer
	groupHostFn
	groupCapture
	// groupCaptureInfo is the calls that return the number of a capture.
	groupCaptureInfo
	groupOrdered
	groupKernels
	groupManaged
	groupAdvice
	// groupLocations is the calls of managed memory that take a location, which exist since
	// 12.2.
	groupLocations
	groupRegistered
	groupPools
	groupPeerAccess
	groupShareable
	groupIPC
)
