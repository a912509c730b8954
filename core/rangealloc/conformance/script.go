package conformance

import (
	"math"

	"ferrum_mem/core/rangealloc"
)

// script converts bytes to a configuration and operations, so that the fuzzer can search
// for an error. Every byte string is a script; bytes beyond its end read as 0.
type script struct {
	data []byte
}

// maxScript bounds a script, because every step compares the whole range.
const maxScript = 1024

// runScript returns the error of the strategy.
func runScript(make Make, o Options, data []byte) error {
	s := &script{data: data[:min(len(data), maxScript)]}
	p, err := newPair(make, s.config(), o)
	if err != nil {
		return err
	}
	defer p.strategy.Close()
	for len(s.data) > 0 {
		if err := s.step(p); err != nil {
			return err
		}
	}
	return nil
}

func (s *script) byte() uint64 {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return uint64(b)
}

func (s *script) word() uint64 { return s.byte()<<8 | s.byte() }

// config has 1 to 65536 granules of 1 B to 1 MiB, or nearly all of 2^64, at a base that
// may leave no address behind the range.
func (s *script) config() rangealloc.Config {
	granule := uint64(1) << (s.byte() % 21)
	c := rangealloc.Config{GranuleBytes: granule, SizeBytes: (s.word() + 1) * granule}
	switch s.byte() % 6 {
	case 1:
		c.BaseAddr = granule
	case 2:
		c.BaseAddr = s.word() * granule
	case 3:
		c.BaseAddr = -c.SizeBytes
	case 4:
		c.SizeBytes = -granule
	case 5:
		c.SizeBytes, c.BaseAddr = -granule, granule
	}
	return c
}

// step is one operation; allocations and frees of live blocks are the most frequent.
func (s *script) step(p *pair) error {
	op := s.byte()
	switch live := p.model.live(); {
	case op < 128:
		_, _, err := p.alloc(s.request(p.model.config, op >= 96))
		return err
	case op >= 200 && op < 220 && p.batcher() != nil:
		if op < 210 {
			_, err := p.allocBatch(s.request(p.model.config, op >= 207), 1+int(s.byte()%20))
			return err
		}
		return p.freeBatch(s.offsets(p, live))
	case op < 220 && len(live) > 0:
		return p.free(live[s.word()%uint64(len(live))].Offset)
	case op < 230:
		return p.free(s.offset(p))
	case op < 246:
		return p.lookup(s.offset(p))
	case op < 250:
		return p.largest()
	default:
		for _, b := range live {
			if err := p.free(b.Offset); err != nil {
				return err
			}
		}
		return nil
	}
}

func (s *script) request(c rangealloc.Config, hints bool) Request {
	r := Request{Size: s.size(c), Align: s.align(c)}
	if hints {
		r.End, r.Group = s.end(), s.byte()%4
	}
	return r
}

// end is soon, late or unknown.
func (s *script) end() uint64 {
	switch n := s.byte(); n % 4 {
	case 0:
		return 0
	case 1:
		return math.MaxUint64 - n
	default:
		return n << (n % 40)
	}
}

// offsets are those of live blocks, none twice, but sometimes with an invalid one.
func (s *script) offsets(p *pair, live []rangealloc.Range) []uint64 {
	var offsets []uint64
	for range s.byte() % 20 {
		if len(live) > 0 {
			i := s.byte() % uint64(len(live))
			offsets = append(offsets, live[i].Offset)
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
		}
	}
	switch n := s.byte(); {
	case n%4 == 0:
		offsets = append(offsets, s.offset(p))
	case n%4 == 1 && len(offsets) > 0:
		offsets = append(offsets, offsets[n/4%uint64(len(offsets))])
	}
	return offsets
}

func (s *script) size(c rangealloc.Config) uint64 {
	kind, n := s.byte(), s.byte()
	switch kind % 8 {
	case 0, 1, 2:
		return (n%16)*c.GranuleBytes + kind/8%c.GranuleBytes
	case 3, 4:
		return n*c.GranuleBytes + 1
	case 5:
		return c.SizeBytes>>(n%8) - kind/8
	case 6:
		return c.SizeBytes / (n + 1)
	default:
		return math.MaxUint64 - n*(kind/8)
	}
}

// align is a power of two in all cases except one.
func (s *script) align(c rangealloc.Config) uint64 {
	switch n := s.byte(); {
	case n < 100:
		return c.GranuleBytes
	case n < 200:
		return c.GranuleBytes << (n % 8)
	case n < 248:
		return 1 << (n % 64)
	default:
		return n - 248
	}
}

// offset is that of a block, near one, or any.
func (s *script) offset(p *pair) uint64 {
	kind, n := s.byte(), s.word()
	b := p.model.blocks[n%uint64(len(p.model.blocks))]
	switch kind % 6 {
	case 0, 1:
		return b.Offset
	case 2:
		return b.Offset + 1 + kind/6
	case 3:
		return b.Offset + b.Size - 1
	case 4:
		return b.Offset + (n>>4)*p.model.config.GranuleBytes
	default:
		return p.model.config.SizeBytes + n - kind
	}
}
