package streams

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// executor is an external queue: it runs its work on demand, at once, or not at all.
type executor struct {
	mu     sync.Mutex
	queue  []func()
	atOnce bool
	refuse error
	// between is called before a rejection is returned.
	between func()
}

func (e *executor) enqueue(work func()) error {
	e.mu.Lock()
	refuse, between, atOnce := e.refuse, e.between, e.atOnce
	if refuse == nil && !atOnce {
		e.queue = append(e.queue, work)
	}
	e.mu.Unlock()
	if between != nil {
		between()
	}
	if refuse == nil && atOnce {
		work()
	}
	return refuse
}

// run runs the queued work, and the work that this work queues.
func (e *executor) run() {
	for {
		e.mu.Lock()
		if len(e.queue) == 0 {
			e.mu.Unlock()
			return
		}
		next := e.queue[0]
		e.queue = e.queue[1:]
		e.mu.Unlock()
		next()
	}
}

func adoptExecutor(t *testing.T, o *opened) (*executor, *Stream) {
	e := &executor{}
	made, err := o.AdoptStream(device.ForeignStream{Enqueue: e.enqueue})
	require.NoError(t, err)
	t.Cleanup(func() {
		e.mu.Lock()
		e.atOnce, e.refuse, e.between = true, nil, nil
		e.mu.Unlock()
		e.run()
	})
	return e, made.(*Stream)
}

func fillWith(t *testing.T, s *Stream, addr device.Addr, value uint32) {
	require.NoError(t, s.Fill(addr, device.Pattern{Value: uint64(value), WidthBytes: 1}, 1))
}

// Work of the owner counts when the end of the queue is marked, although the device does
// not know about it.
func TestWaitOnAnAdoptedStreamCoversItsOwnersWork(t *testing.T) {
	e, s := adoptExecutor(t, openOne(t))
	ran := false
	require.NoError(t, e.enqueue(func() { ran = true }))
	idle, err := s.Idle()
	require.NoError(t, err)
	require.True(t, idle)
	end, err := device.MarkEnd("test", s)
	require.NoError(t, err)
	require.NotNil(t, end)
	passed, err := end.Done()
	require.NoError(t, err)
	require.False(t, passed)
	e.run()
	require.True(t, ran)
	passed, err = end.Done()
	require.NoError(t, err)
	require.True(t, passed)
	require.NoError(t, end.Close())
	require.NoError(t, s.Close())
	end, err = device.MarkEnd("test", s)
	require.NoError(t, err)
	require.NotNil(t, end, "the owner may have queued something")
	e.run()
	passed, err = end.Done()
	require.NoError(t, err)
	require.True(t, passed)
	end, err = device.MarkEnd("test", s)
	require.NoError(t, err)
	require.Nil(t, end, "a closed stream has run dry")
}

// A wait after Close still covers the work that the owner queued before the close. Close
// does not wait for that work.
func TestCloseOfAnAdoptedStreamLeavesItsOwnersWork(t *testing.T) {
	e, s := adoptExecutor(t, openOne(t))
	ran := false
	require.NoError(t, e.enqueue(func() { ran = true }))
	require.NoError(t, s.Close())
	require.NoError(t, e.enqueue(func() { t.Log("queued later") }))
	for range 2 {
		idle, err := s.Idle()
		require.NoError(t, err)
		require.False(t, idle)
	}
	end, err := device.MarkEnd("test", s)
	require.NoError(t, err)
	passed, err := end.Done()
	require.NoError(t, err)
	require.False(t, passed)
	requireCode(t, device.CodeInvalidState, s.HostFunction(func() {}), "closed")
	requireCode(t, device.CodeInvalidState, s.Close(), "closed")
	e.run()
	require.True(t, ran)
	require.NoError(t, end.Synchronize(device.Forever))
	require.NoError(t, end.Close())
	_, err = s.Idle()
	requireCode(t, device.CodeInvalidState, err, "closed")
	_, err = s.RecordEvent()
	requireCode(t, device.CodeInvalidState, err, "closed")
}

// A queue that accepts no more work has no work that could be waited for.
func TestCloseOfAnAdoptedStreamThatRejectsTheMark(t *testing.T) {
	e, s := adoptExecutor(t, openOne(t))
	e.refuse = errors.New("ended")
	require.NoError(t, s.Close())
	end, err := device.MarkEnd("test", s)
	require.NoError(t, err)
	require.Nil(t, end)
}

// A queue that runs its work at once works too, even when the work queues more work and
// waits.
func TestAdoptedStreamThatRunsWorkAtOnce(t *testing.T) {
	o := openOne(t)
	addr := allocate(t, o, 1<<16)
	e, s := adoptExecutor(t, o)
	e.atOnce = true
	fillWith(t, s, addr, 1)
	require.EqualValues(t, 1, view(addr, 1)[0])
	var inner sync.Mutex
	inner.Lock()
	require.NoError(t, s.HostFunction(func() {
		// This is the lock that the queueing call holds.
		inner.Lock()
		defer inner.Unlock()
		fillWith(t, s, addr, 2)
	}))
	inner.Unlock()
	require.NoError(t, s.Synchronize(device.Forever))
	require.NoError(t, s.Synchronize(device.Forever))
	require.EqualValues(t, 2, view(addr, 1)[0])
	require.NoError(t, s.Close())
}

func TestAdoptedStreamRejectsWork(t *testing.T) {
	o := openOne(t)
	addr := allocate(t, o, 1<<16)
	e, s := adoptExecutor(t, o)
	fillWith(t, s, addr, 1)
	e.refuse = errors.New("full")
	err := s.Fill(addr, device.Pattern{Value: 2, WidthBytes: 1}, 1)
	requireCode(t, device.CodeDevice, err, "full")
	_, err = s.RecordEvent()
	requireCode(t, device.CodeDevice, err, "full")
	e.refuse = nil
	require.EqualValues(t, 1, o.memory.uses.Load(), "the first fill is queued")
	e.run()
	require.EqualValues(t, 1, view(addr, 1)[0])
	idle, err := s.Idle()
	require.NoError(t, err)
	require.True(t, idle, "a rejected work item is not waited for")
	require.Zero(t, o.memory.uses.Load())
	e.atOnce = true
	require.NoError(t, s.Close())
}

// A piece of work may run an operation that its queue then rejects. The operation of that
// piece of work still runs.
func TestAdoptedStreamRejectsWorkThatHasRun(t *testing.T) {
	o := openOne(t)
	addr := allocate(t, o, 1<<16)
	var s *Stream
	calls := 0
	made, err := o.AdoptStream(device.ForeignStream{Enqueue: func(work func()) error {
		if calls++; calls == 1 {
			fillWith(t, s, addr+1, 2)
			return errors.New("late")
		}
		work()
		return nil
	}})
	require.NoError(t, err)
	s = made.(*Stream)
	fillWith(t, s, addr, 1)
	require.NoError(t, s.Synchronize(device.Forever))
	require.EqualValues(t, []byte{1, 2}, view(addr, 2))
	require.NoError(t, s.Close())
}

// Work that arrives twice, or on two threads, does no harm.
func TestAdoptedStreamOfAnInvalidQueue(t *testing.T) {
	o := openOne(t)
	addr := allocate(t, o, 1<<16)
	var group sync.WaitGroup
	made, err := o.AdoptStream(device.ForeignStream{Enqueue: func(work func()) error {
		group.Add(2)
		for range 2 {
			device.Go("twice", func() {
				defer group.Done()
				work()
			})
		}
		return nil
	}})
	require.NoError(t, err)
	s := made.(*Stream)
	for i := range 100 {
		fillWith(t, s, addr, uint32(i))
	}
	require.NoError(t, s.Synchronize(device.Forever))
	require.EqualValues(t, 99, view(addr, 1)[0])
	group.Wait()
	require.NoError(t, s.Close())
	group.Wait()
}

func TestAdoptStreamRejectsBadInput(t *testing.T) {
	o := openOne(t)
	_, err := o.AdoptStream(device.ForeignStream{})
	requireCode(t, device.CodeNullPointer, err, "enqueue")
	_, err = o.AdoptStream(device.ForeignStream{Native: 5})
	requireCode(t, device.CodeUnsupported, err, "0x5")
}
