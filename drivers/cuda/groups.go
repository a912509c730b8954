package cuda

import "ferrum_mem/drivers/internal/dl"

// Groups of functions that a driver may lack.
const (
	_ dl.Group = iota
	// Of what the header 13 has only the later form of, either will do.
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
	// groupCaptureInfo numbers captures.
	groupCaptureInfo
	groupOrdered
	groupKernels
	groupManaged
	groupAdvice
	// groupLocations is the calls of managed memory with a location, from 12.2 on.
	groupLocations
	groupRegistered
	groupPools
	groupPeerAccess
	groupShareable
	groupIPC
)
