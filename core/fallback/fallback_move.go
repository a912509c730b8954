package fallback

import (
	"errors"
	"math"

	"ferrum_mem/core/device"
)

// TakeGPU returns the storage on the GPU and passes it to the caller: the buffer then
// has none. It returns false if the buffer is not there, or is pinned.
func (b *FallbackBuffer[G, C]) TakeGPU() (storage G, ok bool) {
	if b.claimOn(GPU, "fallback.take_gpu") != nil {
		return storage, false
	}
	storage = b.gpu
	b.endClaim(true)
	return storage, true
}

// TakeCPU is TakeGPU for the CPU.
func (b *FallbackBuffer[G, C]) TakeCPU() (storage C, ok bool) {
	if b.claimOn(CPU, "fallback.take_cpu") != nil {
		return storage, false
	}
	storage = b.cpu
	b.endClaim(true)
	return storage, true
}

// Pin keeps the buffer where it is until Unpin was called as often as Pin. Errors:
// CodeInvalidState if it has no storage, CodeResourceExhausted for a buffer that is
// pinned 2^32 - 1 times.
func (b *FallbackBuffer[G, C]) Pin() error {
	const op = "fallback.pin"
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.claimed {
		b.settled.Wait()
	}
	if b.gone {
		return b.goneError(op)
	}
	if b.pins == math.MaxUint32 {
		return device.Errorf(device.CodeResourceExhausted, op, "%v is pinned %s", b.id, device.Count(b.pins, "time"))
	}
	b.pins++
	return nil
}

// Unpin ends one Pin. It returns CodeInvalidState if there is none.
func (b *FallbackBuffer[G, C]) Unpin() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pins == 0 {
		return device.Errorf(device.CodeInvalidState, "fallback.unpin", "%v is not pinned", b.id)
	}
	b.pins--
	return nil
}

// Pins returns how often the buffer is pinned.
func (b *FallbackBuffer[G, C]) Pins() uint32 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pins
}

// HasEnded reports whether the storage was released or taken.
func (b *FallbackBuffer[G, C]) HasEnded() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.gone
}

func (b *FallbackBuffer[G, C]) goneError(op string) error {
	return device.Errorf(device.CodeInvalidState, op, "%v no longer has storage", b.id)
}

// movableLocked returns an error if the storage cannot be moved now. The caller holds
// mu.
func (b *FallbackBuffer[G, C]) movableLocked(op string) error {
	if b.gone {
		return b.goneError(op)
	}
	if b.pins > 0 {
		return device.Errorf(device.CodeBusy, op, "%v is pinned %s", b.id, device.Count(b.pins, "time"))
	}
	return nil
}

// claim gives the caller the exclusive right to change the buffer, until endClaim: only
// it uses the storage fields. It returns an error if the buffer must not be changed.
func (b *FallbackBuffer[G, C]) claim(op string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.claimed || b.uses > 0 {
		b.settled.Wait()
	}
	if err := b.movableLocked(op); err != nil {
		return err
	}
	b.claimed = true
	return nil
}

// claimOn claims a buffer that must be on that side.
func (b *FallbackBuffer[G, C]) claimOn(side Side, op string) error {
	if err := b.claim(op); err != nil {
		return err
	}
	// Only the caller may change the side.
	if b.side != side {
		b.endClaim(false)
		return device.Errorf(device.CodeInvalidState, op, "%v is on the %v", b.id, b.side)
	}
	return nil
}

// endClaim ends a claim. With gone the buffer has no storage any more.
func (b *FallbackBuffer[G, C]) endClaim(gone bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.claimed = false
	if gone {
		b.gone = true
		b.forgetLocked()
	}
	b.settled.Broadcast()
}

// end marks the buffer as having no storage; the storage is freed elsewhere. No call
// moves it or copies to or from it.
func (b *FallbackBuffer[G, C]) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gone = true
	b.forgetLocked()
}

// forgetLocked removes the references to both storages. The caller holds mu.
func (b *FallbackBuffer[G, C]) forgetLocked() {
	var noGPU G
	var noCPU C
	b.gpu, b.cpu = noGPU, noCPU
}

// use keeps the buffer where it is during a copy to or from it.
func (b *FallbackBuffer[G, C]) use(op string, during func() error) error {
	b.mu.Lock()
	for b.claimed {
		b.settled.Wait()
	}
	if b.gone {
		b.mu.Unlock()
		return b.goneError(op)
	}
	b.uses++
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.uses--
		b.settled.Broadcast()
	}()
	return during()
}

// mayMove checks, without waiting, whether a move is needed.
func (b *FallbackBuffer[G, C]) mayMove(op string, to Side) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.movableLocked(op)
	return err == nil && b.side != to, err
}

// ToCPU moves the buffer to the CPU. If it is already there, ToCPU does nothing. After
// a failed call the buffer is unchanged where it was. Errors: CodeBusy while it is
// pinned, CodeInvalidState if it has no storage, those of the storage and of the copy.
func (b *FallbackBuffer[G, C]) ToCPU() error {
	const op = "fallback.to_cpu"
	if useful, err := b.mayMove(op, CPU); !useful {
		return err
	}
	made, err := b.sides.CPU.Alloc(b.bytes)
	if err != nil {
		return err
	}
	if err := b.claim(op); err != nil {
		return errors.Join(err, b.sides.CPU.Release(made))
	}
	if b.side == CPU {
		b.endClaim(false)
		return b.sides.CPU.Release(made)
	}
	err = b.sides.ToCPU(made, b.gpu, b.bytes)
	if err == nil {
		err = b.sides.GPU.Release(b.gpu)
	}
	if err != nil {
		b.endClaim(false)
		return errors.Join(err, b.sides.CPU.Release(made))
	}
	var none G
	b.arrive(CPU, none, made)
	return nil
}

// ToGPU is ToCPU in the other direction.
func (b *FallbackBuffer[G, C]) ToGPU() error {
	const op = "fallback.to_gpu"
	if useful, err := b.mayMove(op, GPU); !useful {
		return err
	}
	made, err := b.sides.GPU.Alloc(b.bytes)
	if err != nil {
		return err
	}
	if err := b.claim(op); err != nil {
		return errors.Join(err, b.sides.GPU.Release(made))
	}
	if b.side == GPU {
		b.endClaim(false)
		return b.sides.GPU.Release(made)
	}
	err = b.sides.ToGPU(made, b.cpu, b.bytes)
	if err == nil {
		err = b.sides.CPU.Release(b.cpu)
	}
	if err != nil {
		b.endClaim(false)
		return errors.Join(err, b.sides.GPU.Release(made))
	}
	var none C
	b.arrive(GPU, made, none)
	return nil
}

// arrive ends the claim of a move.
func (b *FallbackBuffer[G, C]) arrive(side Side, gpu G, cpu C) {
	if b.sides.Moved != nil {
		b.sides.Moved(b.id, side)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.side, b.gpu, b.cpu = side, gpu, cpu
	b.claimed = false
	b.settled.Broadcast()
}

// Close releases the storage. Errors, after which the buffer does not change: CodeBusy
// while it is pinned, CodeInvalidState if it has no storage, those of the storage.
func (b *FallbackBuffer[G, C]) Close() error {
	return b.closeBy("fallback.free", b.sides.GPU.Release)
}

// closeBy is Close with another release of GPU storage.
func (b *FallbackBuffer[G, C]) closeBy(op string, releaseGPU func(G) error) error {
	if err := b.claim(op); err != nil {
		return err
	}
	var err error
	if b.side == CPU {
		err = b.sides.CPU.Release(b.cpu)
	} else {
		err = releaseGPU(b.gpu)
	}
	b.endClaim(err == nil)
	return err
}
