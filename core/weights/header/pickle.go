package header

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"ferrum_mem/core/device"
)

// The values of a pickle: nil, bool, int64, float64, string, []byte, tuple, *list, *dict, global,
// *storage and *pickledTensor. A value that can hold others is a pointer or a slice. So values stay
// shared, and a small pickle cannot use much memory.
type (
	tuple []any
	list  struct{ values []any }
	dict  struct {
		keys, values []any
	}
	// global is a name that a pickle refers to: module and name.
	global string
	// mark begins the entries of a list, tuple or dictionary.
	mark struct{}
)

// Bounds of a pickle. A file has a few operations for each tensor.
const (
	maxOperations = 64 * MaxTensors
	maxPickleText = 1 << 20
)

// machine reads pickles (protocols 0 to 5) and builds plain values. The name of a class or function
// is a value of type global. torch_globals.go computes the result of a call of the few names that
// it knows; a call of any other name is rejected. Nothing is imported and no code of a pickle is
// run.
type machine struct {
	in   Input
	data []byte
	// at is the offset of the next byte in data.
	at         int
	stack      []any
	memo       map[uint64]any
	operations int
	// storage resolves a persistent id, which names data outside of the pickle.
	storage func(id any) (any, error)
	err     error
}

func (m *machine) fail(format string, args ...any) {
	if m.err == nil {
		m.err = m.in.wrong("the pickle at byte "+strconv.Itoa(m.at)+": "+format, args...)
	}
}

// run reads one pickle and returns its value.
func (m *machine) run() (any, error) {
	m.stack, m.memo = nil, map[uint64]any{}
	for m.err == nil {
		if m.operations++; m.operations > maxOperations {
			m.fail("it has more than %d operations", maxOperations)
			break
		}
		op := m.take(1)
		if m.err != nil {
			break
		}
		if op[0] == '.' {
			value := m.pop()
			if m.err == nil && len(m.stack) != 0 {
				m.fail("it ends with %d values, not with one", len(m.stack)+1)
			}
			return value, m.err
		}
		m.do(op[0])
	}
	return nil, m.err
}

func (m *machine) take(count uint64) []byte {
	if m.err != nil {
		return nil
	}
	if count > uint64(len(m.data)-m.at) {
		m.fail("it ends inside an operation")
		return nil
	}
	part := m.data[m.at : m.at+int(count)]
	m.at += int(count)
	return part
}

// number reads a little-endian number of a given size in bytes.
func (m *machine) number(width uint64) uint64 {
	var wide [8]byte
	copy(wide[:], m.take(width))
	return binary.LittleEndian.Uint64(wide[:])
}

// line reads to the end of a line.
func (m *machine) line() string {
	if m.err != nil {
		return ""
	}
	end := bytes.IndexByte(m.data[m.at:min(len(m.data), m.at+maxName)], '\n')
	if end < 0 {
		m.fail("a line does not end")
		return ""
	}
	text := string(m.data[m.at : m.at+end])
	m.at += end + 1
	return text
}

func (m *machine) text(length uint64) string {
	if length > maxPickleText {
		m.fail("a text of %v is longer than %d", device.Size(length), maxPickleText)
	}
	return string(m.take(length))
}

func (m *machine) push(value any) { m.stack = append(m.stack, value) }

func (m *machine) pop() any {
	if m.err != nil {
		return nil
	}
	if len(m.stack) == 0 {
		m.fail("it takes a value from an empty stack")
		return nil
	}
	value := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	if _, isMark := value.(mark); isMark {
		m.fail("it takes a value at the start of a list")
	}
	return value
}

// marked removes and returns the values since the last mark.
func (m *machine) marked() []any {
	if m.err != nil {
		return nil
	}
	for i := len(m.stack) - 1; i >= 0; i-- {
		if _, isMark := m.stack[i].(mark); isMark {
			values := append([]any(nil), m.stack[i+1:]...)
			m.stack = m.stack[:i]
			return values
		}
	}
	m.fail("a list ends that did not begin")
	return nil
}

func (m *machine) remember(key uint64) {
	if m.err == nil && len(m.stack) == 0 {
		m.fail("it stores a value while the stack is empty")
	}
	if m.err == nil {
		m.memo[key] = m.stack[len(m.stack)-1]
	}
}

func (m *machine) recall(key uint64) {
	value, ok := m.memo[key]
	if !ok {
		m.fail("it refers to value %d, which it did not remember", key)
		return
	}
	m.push(value)
}

// do executes one operation. The letters are those of the pickle protocol.
func (m *machine) do(op byte) {
	switch op {
	case 0x80: // the protocol
		if version := m.number(1); version > 5 {
			m.err = m.in.unsupported("the pickle has protocol %d, and only 0 to 5 are read", version)
		}
	case 0x95: // the length of a frame
		m.number(8)
	case '(':
		m.push(mark{})
	case '0':
		m.pop()
	case '1':
		m.marked()
	case '2':
		value := m.pop()
		m.push(value)
		m.push(value)
	case 'p', 'q', 'r', 0x94, 'g', 'h', 'j':
		m.doMemo(op)
	case ')', 't', 0x85, 0x86, 0x87, ']', 'l', 'a', 'e', '}', 'd', 's', 'u':
		m.doContainer(op)
	case 'c', 0x93, 'R', 'b', 0x81, 'Q':
		m.doObject(op)
	default:
		m.doPlain(op)
	}
}

func (m *machine) doMemo(op byte) {
	switch op {
	case 'p', 'g':
		key, err := strconv.ParseUint(m.line(), 10, 64)
		if err != nil {
			m.fail("a remembered value has no number")
		}
		if op == 'p' {
			m.remember(key)
			return
		}
		m.recall(key)
	case 'q':
		m.remember(m.number(1))
	case 'r':
		m.remember(m.number(4))
	case 0x94:
		m.remember(uint64(len(m.memo)))
	case 'h':
		m.recall(m.number(1))
	case 'j':
		m.recall(m.number(4))
	}
}

func (m *machine) doContainer(op byte) {
	switch op {
	case ')':
		m.push(tuple{})
	case 't':
		m.push(tuple(m.marked()))
	case 0x85, 0x86, 0x87:
		values := make(tuple, op-0x84)
		for i := len(values) - 1; i >= 0; i-- {
			values[i] = m.pop()
		}
		m.push(values)
	case ']':
		m.push(&list{})
	case 'l':
		m.push(&list{values: m.marked()})
	case 'a':
		m.extend([]any{m.pop()})
	case 'e':
		m.extend(m.marked())
	case '}':
		m.push(&dict{})
	case 'd':
		pairs := m.marked()
		m.push(&dict{})
		m.set(pairs)
	case 's':
		value, key := m.pop(), m.pop()
		m.set([]any{key, value})
	case 'u':
		m.set(m.marked())
	}
}

func (m *machine) extend(values []any) {
	into := m.pop()
	l, ok := into.(*list)
	if !ok {
		m.fail("it appends to a value that is not a list")
		return
	}
	l.values = append(l.values, values...)
	m.push(l)
}

func (m *machine) set(pairs []any) {
	into := m.pop()
	d, ok := into.(*dict)
	if !ok || len(pairs)%2 != 0 {
		m.fail("it sets entries of a value that is not a dictionary")
		return
	}
	for i := 0; i < len(pairs); i += 2 {
		d.keys, d.values = append(d.keys, pairs[i]), append(d.values, pairs[i+1])
	}
	m.push(d)
}

func (m *machine) doObject(op byte) {
	switch op {
	case 'c':
		module := m.line()
		m.push(global(module + "." + m.line()))
	case 0x93:
		name, module := m.pop(), m.pop()
		n, okName := name.(string)
		mod, okModule := module.(string)
		if !okName || !okModule {
			m.fail("a name is not a text")
		}
		m.push(global(mod + "." + n))
	case 'R', 0x81:
		arguments, called := m.pop(), m.pop()
		values, ok := arguments.(tuple)
		name, isGlobal := called.(global)
		if !ok || !isGlobal {
			m.fail("it calls a value that is not a function")
			return
		}
		value, err := m.call(name, values)
		if err != nil && m.err == nil {
			m.err = err
		}
		m.push(value)
	case 'b': // sets the attributes of an object; they hold no tensor
		m.pop()
		m.push(m.pop())
	case 'Q':
		id := m.pop()
		if m.err != nil {
			return
		}
		value, err := m.storage(id)
		if err != nil {
			m.err = err
		}
		m.push(value)
	}
}

func (m *machine) doPlain(op byte) {
	switch op {
	case 'N':
		m.push(nil)
	case 0x88, 0x89:
		m.push(op == 0x88)
	case 'J':
		m.push(int64(int32(m.number(4))))
	case 'K':
		m.push(int64(m.number(1)))
	case 'M':
		m.push(int64(m.number(2)))
	case 0x8a:
		m.push(m.long(m.number(1)))
	case 0x8b:
		m.push(m.long(m.number(4)))
	case 'I', 'L':
		m.push(m.digits(m.line()))
	case 'G':
		bits := m.take(8)
		if m.err == nil {
			m.push(math.Float64frombits(binary.BigEndian.Uint64(bits)))
		}
	case 'F':
		value, err := strconv.ParseFloat(m.line(), 64)
		if err != nil {
			m.fail("a number is not valid")
		}
		m.push(value)
	case 'X', 'T':
		m.push(m.text(m.number(4)))
	case 0x8c, 'U':
		m.push(m.text(m.number(1)))
	case 0x8d:
		m.push(m.text(m.number(8)))
	case 'V', 'S':
		m.push(strings.Trim(m.line(), `'"`))
	case 'B':
		m.push([]byte(m.text(m.number(4))))
	case 'C':
		m.push([]byte(m.text(m.number(1))))
	case 0x8e:
		m.push([]byte(m.text(m.number(8))))
	default:
		m.err = m.in.unsupported("the pickle has operation 0x%02x at byte %d, which files of tensors do not need", op, m.at-1)
	}
}

// long reads a number in two's complement. A number beyond 64 bits becomes the text of its bytes,
// because no computation uses it.
func (m *machine) long(width uint64) any {
	if width > 1<<10 {
		m.fail("a number has %v", device.Size(width))
		return nil
	}
	raw := m.take(width)
	// Bytes that only repeat the sign are dropped.
	for n := len(raw); n > 1; n-- {
		extends := raw[n-1] == 0 && raw[n-2] < 0x80 || raw[n-1] == 0xFF && raw[n-2] >= 0x80
		if !extends {
			break
		}
		raw = raw[:n-1]
	}
	switch n := len(raw); {
	case n == 0:
		return int64(0)
	case n > 8:
		return "a number of " + strconv.Itoa(n) + " bytes: " + hex.EncodeToString(raw)
	default:
		value := uint64(0)
		for i, b := range raw {
			value |= uint64(b) << (8 * i)
		}
		return int64(value<<(64-8*n)) >> (64 - 8*n)
	}
}

// digits parses a number in text form. 00 and 01 are Booleans.
func (m *machine) digits(text string) any {
	switch text {
	case "00":
		return false
	case "01":
		return true
	}
	value, err := strconv.ParseInt(strings.TrimSuffix(text, "L"), 10, 64)
	if err != nil {
		m.fail("a number is not an integer of 64 bits")
	}
	return value
}
