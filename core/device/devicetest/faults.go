package devicetest

// Call is a kind of driver call that can be counted and made to fail.
type Call string

// The kinds of calls. Any stands for all of them.
const (
	Any               Call = "any"
	Alloc             Call = "allocate"
	Free              Call = "free"
	Memory            Call = "memory"
	NewStream         Call = "new_stream"
	DeviceSynchronize Call = "device_synchronize"
	DeviceClose       Call = "device_close"
	Copy              Call = "copy"
	CopyBatch         Call = "copy_batch"
	CopyFromHost      Call = "copy_from_host"
	CopyToHost        Call = "copy_to_host"
	CopyFromPeer      Call = "copy_from_peer"
	Fill              Call = "fill"
	FillNow           Call = "fill_now"
	FirstOther        Call = "first_other"
	HostFunction      Call = "host_function"
	RecordEvent       Call = "record_event"
	WaitEvent         Call = "wait_event"
	StreamIdle        Call = "stream_idle"
	StreamSynchronize Call = "stream_synchronize"
	StreamClose       Call = "stream_close"
	StreamCapture     Call = "stream_capture"
	EventDone         Call = "event_done"
	EventSynchronize  Call = "event_synchronize"
	EventPassedAt     Call = "event_passed_at"
	EventClose        Call = "event_close"
	Reserve           Call = "reserve"
	Unreserve         Call = "unreserve"
	Create            Call = "create"
	Release           Call = "release"
	Map               Call = "map"
	SetAccess         Call = "set_access"
	Unmap             Call = "unmap"
	UnmapKeeping      Call = "unmap_keeping"
	MapKept           Call = "map_kept"
	DropKept          Call = "drop_kept"
	Zero              Call = "zero"
	Resident          Call = "resident"
	AllocPinned       Call = "allocate_pinned"
	FreePinned        Call = "free_pinned"
	Adopt             Call = "adopt"
	Disown            Call = "disown"
	Link              Call = "link"
	Unlink            Call = "unlink"
	Prefetch          Call = "prefetch"
	AdoptStream       Call = "adopt_stream"
	AllocManaged      Call = "allocate_managed"
	FreeManaged       Call = "free_managed"
	Advise            Call = "advise"
	Register          Call = "register"
	Unregister        Call = "unregister"
	AllocOrdered      Call = "allocate_ordered"
	FreeOrdered       Call = "free_ordered"
)

// faults counts calls and has the failures that are set for them.
type faults struct {
	counts map[Call]int
	armed  []fault
}

type fault struct {
	call Call
	// left counts the calls of the kind up to the failing one, which is included.
	left int
	err  error
}

// enter counts a call and returns the failure that is set for it.
func (f *faults) enter(call Call) error {
	if f.counts == nil {
		f.counts = map[Call]int{}
	}
	f.counts[call]++
	f.counts[Any]++
	var failure error
	kept := f.armed[:0]
	for _, armed := range f.armed {
		if armed.call == call || armed.call == Any {
			armed.left--
		}
		if armed.left > 0 {
			kept = append(kept, armed)
		} else {
			failure = armed.err
		}
	}
	f.armed = kept
	return failure
}
