package pool

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// program is a correct program with several streams on a pool. If it uses a block on
// another stream, it first waits for the former users and records the stream. It frees
// blocks on any stream.
type program struct {
	dev  *orderDevice
	pool *Pool
	// caches is in front of the pool, or nil.
	caches *fakeCache
	live   []*programBlock
	made   int
	// wrong names the error that the program makes; "" means none.
	wrong string
	// sabotage breaks the pool before each step; nil means that it does not.
	sabotage func()
	// choose returns a number below n.
	choose func(n int, what string) int
}

type programBlock struct {
	number int
	addr   device.Addr
	size   uint64
	// users are the streams that have used it, the owner first.
	users []*orderStream
}

func newProgram(streams int, strategy string, cached bool) *program {
	dev := newOrderDevice(streams, 64*mib)
	c := DefaultConfig()
	c.Name, c.Strategy = "order", strategy
	c.InitialSizeBytes, c.GrowthIncrementBytes = mib, mib
	p, err := New(engine.New(dev, engine.Options{}), c)
	if err != nil {
		panic(err)
	}
	p.PauseReturn() // the streams of the test belong to one thread
	program := &program{dev: dev, pool: p}
	if cached {
		program.caches = newFakeCache(p, func(id uint64) device.Stream { return dev.streams[id] })
	}
	return program
}

func (p *program) stream() *orderStream {
	return p.dev.streams[p.choose(len(p.dev.streams), "stream")]
}

func (p *program) sizes() uint64 {
	return []uint64{256, 1000, 1024, 1100, 4096, 5000, 40 * kib, 300 * kib}[p.choose(8, "size")]
}

// step does one thing, and returns the violation that it caused, if any.
func (p *program) step() error {
	if p.sabotage != nil {
		p.sabotage()
	}
	switch p.choose(9, "action") {
	case 0, 1, 2:
		return p.alloc()
	case 3, 4:
		return p.free()
	case 5:
		return p.share()
	case 6:
		return p.use()
	case 7:
		p.stream().step()
		p.stream().step()
	case 8:
		return p.rare()
	}
	return nil
}

func (p *program) rare() error {
	switch p.choose(6, "rare") {
	case 0:
		one, two := p.stream(), p.stream()
		if one != two {
			one.waitFor(two)
		}
	case 1:
		s := p.stream()
		s.runTo(len(s.queue))
	case 2:
		p.pool.CompleteFrees()
	case 3:
		_, err := p.pool.Trim(0)
		return err
	case 4:
		return p.batch()
	case 5:
		if p.choose(8, "reset") == 0 {
			return p.reset()
		}
	}
	return nil
}

func (p *program) alloc() error {
	s, size := p.stream(), p.sizes()
	told := s
	if p.wrong == "another stream than told" {
		told = p.stream()
	}
	var addr device.Addr
	if p.caches != nil && p.choose(2, "cached") == 0 {
		addr = p.caches.alloc(p.choose(2, "thread"), size, uint64(told.number))
	}
	if addr == 0 {
		block, err := p.pool.Alloc(Request{SizeBytes: size, Stream: told})
		if err != nil {
			return err
		}
		addr = block.Addr
	}
	return p.own(addr, size, s)
}

// own uses the new block at once on its stream.
func (p *program) own(addr device.Addr, size uint64, s *orderStream) error {
	p.made++
	p.live = append(p.live, &programBlock{number: p.made, addr: addr, size: size, users: []*orderStream{s}})
	return p.dev.touch(s, p.made, addr, size)
}

func (p *program) pick() *programBlock {
	if len(p.live) == 0 {
		return nil
	}
	return p.live[p.choose(len(p.live), "block")]
}

func (p *program) use() error {
	b := p.pick()
	if b == nil {
		return nil
	}
	return p.dev.touch(b.users[p.choose(len(b.users), "user")], b.number, b.addr, b.size)
}

// share makes a further stream use a block, and records it in the pool.
func (p *program) share() error {
	b := p.pick()
	if b == nil {
		return nil
	}
	s := p.stream()
	if s != b.users[0] {
		s.waitFor(b.users[0])
	}
	if p.wrong != "unrecorded use" {
		if err := p.pool.RecordStream(b.addr, s); err != nil {
			return err
		}
	}
	b.users = append(b.users, s)
	return p.dev.touch(s, b.number, b.addr, b.size)
}

// free frees a block, on its own stream or on one that has not used it.
func (p *program) free() error {
	b := p.pick()
	if b == nil {
		return nil
	}
	s := b.users[0]
	if p.choose(3, "elsewhere") == 0 {
		s = p.stream()
	}
	p.drop(b)
	if p.caches != nil {
		return p.caches.free(p.choose(2, "thread"), b.addr, uint64(s.number))
	}
	return p.pool.Free(b.addr, s)
}

func (p *program) drop(b *programBlock) {
	for i, other := range p.live {
		if other == b {
			p.live = append(p.live[:i], p.live[i+1:]...)
			return
		}
	}
}

func (p *program) batch() error {
	s, size := p.stream(), p.sizes()
	addrs := make([]device.Addr, 1+p.choose(12, "count"))
	if err := p.pool.AllocBatch(Request{SizeBytes: size, Stream: s}, addrs); err != nil {
		return err
	}
	for i, addr := range addrs {
		if err := p.own(addr, size, s); err != nil {
			return err
		}
		if i%2 == 0 {
			addrs[i/2] = addr
			p.live = p.live[:len(p.live)-1]
		}
	}
	return p.pool.FreeBatch(addrs[:(len(addrs)+1)/2], p.stream())
}

func (p *program) reset() error {
	p.live = nil
	return p.pool.Reset(p.stream())
}

// end closes the pool: nothing may be left.
func (p *program) end(t require.TestingT) {
	require.NoError(t, p.pool.audit())
	for _, b := range p.live {
		for _, s := range b.users {
			s.runTo(len(s.queue))
		}
	}
	require.NoError(t, p.pool.Close(true))
	require.Zero(t, p.dev.HeldBytes())
}

// A program must never get a block that queued work of another stream still uses.
func TestBlockIsReusedOnlyAfterItsFormerUses(t *testing.T) {
	devicetest.OneThread(t)
	for _, strategy := range []string{"best_fit", "tlsf"} {
		for _, cached := range []bool{false, true} {
			t.Run(strategy, func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					p := newProgram(rapid.IntRange(1, 4).Draw(t, "streams"), strategy, cached)
					p.choose = func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(t, what) }
					for range rapid.IntRange(1, 150).Draw(t, "steps") {
						require.NoError(t, p.step())
						require.NoError(t, p.pool.audit())
					}
					p.end(t)
				})
			})
		}
	}
}

// runWrong runs programs until one is detected, and returns their number.
func runWrong(streams int, cached bool, breakIt func(*program)) (programs int) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := newProgram(streams, "best_fit", cached)
		p.choose = func(n int, _ string) int { return r.IntN(n) }
		breakIt(p)
		for range 150 {
			if p.step() != nil {
				return int(seed) + 1
			}
		}
	}
	return 0
}

// forgetStreams makes the pool treat all blocks as blocks of the default stream.
func (p *Pool) forgetStreams() {
	for _, s := range p.heap.segments {
		s.eachBlock(func(l located) bool {
			p.heap.streams.forget(s, l.Slot)
			return true
		})
	}
}

// The test device must detect errors; otherwise the test above would show nothing.
func TestOrderDeviceDetectsErrors(t *testing.T) {
	devicetest.SkipShortRace(t)
	require.Zero(t, runWrong(3, false, func(*program) {}), "a right program")
	require.Zero(t, runWrong(3, true, func(*program) {}), "a right program with caches")
	for _, wrong := range []string{"another stream than told", "unrecorded use"} {
		require.NotZero(t, runWrong(3, false, func(p *program) { p.wrong = wrong }), wrong)
		require.NotZero(t, runWrong(3, true, func(p *program) { p.wrong = wrong }), wrong)
	}
	require.NotZero(t, runWrong(3, false, func(p *program) { p.dev.lies = true }), "events that pass too early")
	require.NotZero(t, runWrong(3, false, func(p *program) {
		p.sabotage = p.pool.forgetStreams
	}), "a pool that forgets which stream a block is of")
}
