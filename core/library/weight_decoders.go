package library

import (
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/weights"
	"ferrum_mem/core/weights/header"
	"ferrum_mem/core/weights/weightjson"
)

// WeightDecoder reads the headers of the files of another format.
type WeightDecoder struct {
	// Name is the name of the format.
	Name string
	// Token is the mark of its callbacks.
	Token      uint64
	Recognises func(start []byte, sizeBytes uint64) bool
	// Decode returns the description of a file, in the form that docs/weights.md documents, or nil
	// if the decoder has not described the file.
	Decode func(in header.Input) ([]byte, error)
}

// decoderEntry is a registered decoder.
type decoderEntry struct {
	WeightDecoder
	library *Library
	number  uint32
	// calls counts the running calls of the decoder. It is closed at the end of the registration.
	calls *gate
}

func (d *decoderEntry) Format() weights.Format { return weights.Format(d.Name) }

func (d *decoderEntry) Recognises(start []byte, sizeBytes uint64) (is bool) {
	if !d.calls.enter() {
		return false
	}
	defer d.calls.exit()
	d.library.running.during(nil, func() { is = d.WeightDecoder.Recognises(start, sizeBytes) })
	return is
}

func (d *decoderEntry) Read(in header.Input) (tensors []header.Tensor, texts map[string]string, err error) {
	if !d.calls.enter() {
		return nil, nil, device.Errorf(device.CodeInvalidHandle, "weights.decoder", "the decoder has been removed")
	}
	defer d.calls.exit()
	var description []byte
	d.library.running.during(nil, func() { description, err = d.Decode(in) })
	if err != nil {
		return nil, nil, err
	}
	if description == nil {
		return nil, nil, device.Errorf(device.CodeInvalidArgument, "weights.decoder", "it has not described the file")
	}
	return weightjson.ParseDescription("its description", description)
}

// Remove ends the registration. It waits for running calls, unless it is called from one.
func (d *decoderEntry) Remove(inside bool) {
	// It fails only for a number that is not registered.
	_ = d.library.Loader.decoders.Remove(d.number)
	if inside {
		d.calls.shut()
		return
	}
	d.calls.close()
}

func (d *decoderEntry) String() string { return fmt.Sprintf("decoder of the format %q", d.Name) }

// No object can end a decoder before its registration ends.
func (d *decoderEntry) hasEnded() bool { return false }

// DecoderAdd registers a decoder, and returns its number and the handle of the registration.
func (l *Loader) DecoderAdd(d WeightDecoder) (number uint32, handle uint64, err error) {
	const op = "weights.decoder_add"
	if _, err := l.library.started(op); err != nil {
		return 0, 0, err
	}
	if d.Recognises == nil || d.Decode == nil {
		return 0, 0, device.Errorf(device.CodeNullPointer, op, "decoder->recognises or decoder->decode is NULL")
	}
	entry := &decoderEntry{WeightDecoder: d, library: l.library, calls: newGate()}
	if entry.number, err = l.decoders.Register(entry); err != nil {
		return 0, 0, err
	}
	handle, err = insertLate(l, l.library.registry.registrations, op, &registration{token: entry.Token, callback: entry, subject: entry})
	if err != nil {
		entry.Remove(false)
		return 0, 0, err
	}
	return entry.number, handle, nil
}
