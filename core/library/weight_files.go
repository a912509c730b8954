package library

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/weights"
	"ferrum_mem/core/weights/weightjson"
)

// fileSum is the record of a file in the result of Verify. Its length does not depend on the sum.
type fileSum struct {
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
}

func encodeSums(sums []fileSum) ([]byte, error) {
	return encode("weights.verify", map[string]any{"files": sums})
}

// Verify returns the SHA-256 sums of all files in the form that docs/weights.md documents, and
// compares them with a list of sums; nil: no list. room is the size of the caller's buffer. If the
// result is longer, Verify reads no file and returns a text of the same length without the sums.
func (w *Weights) Verify(sums []byte, room uint64, callback *WeightCallback) ([]byte, error) {
	var known map[string]string
	if sums != nil {
		var err error
		if known, err = weights.ReadSums("sums_text", bytes.NewReader(sums)); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	end, err := w.begin(&reading{what: "a verification", token: callback.token(), cancel: cancel})
	if err != nil {
		return nil, err
	}
	defer end()
	list := []fileSum{}
	for _, file := range w.source.Metadata().Extra.Files {
		list = append(list, fileSum{File: file, SHA256: strings.Repeat("0", 64)})
	}
	text, err := encodeSums(list)
	if err != nil || uint64(len(text)) >= room {
		return text, err
	}
	told := callback.told(w.library, cancel)
	tell := func(done, all uint64) {
		if told != nil {
			told(weights.Progress{DoneBytes: done, TotalBytes: all})
		}
	}
	var computed []weights.Sum
	if sums == nil {
		computed, err = w.source.Sums(ctx, tell)
	} else {
		computed, err = w.source.Verify(ctx, known, tell)
	}
	if err != nil {
		return nil, err
	}
	for at := range computed {
		list[at].SHA256 = computed[at].SHA256
	}
	return encodeSums(list)
}

// ConvertRequest states how a source is converted.
type ConvertRequest struct {
	// Format is FormatAny if the ending of the path determines the format.
	Format  WeightsFormat
	Replace bool
	// Specs is the text of the order. Texts is the text of the metadata. nil: none.
	Specs, Texts []byte
	Callback     *WeightCallback
}

// Convert writes tensors of the source to a file.
func (w *Weights) Convert(path string, r ConvertRequest) error {
	const op = "weights.convert"
	if path == "" {
		return device.Errorf(device.CodeInvalidArgument, op, "path is empty")
	}
	options := weights.ConvertOptions{Format: r.Format.name(), Replace: r.Replace}
	if r.Format < FormatAny || r.Format > FormatCustom {
		return device.Errorf(device.CodeInvalidArgument, op, "request->format is %d: want 0 to %d", r.Format, FormatCustom)
	}
	if r.Format == FormatAny {
		if options.Format = formatOf(path); options.Format == "" {
			return device.Errorf(device.CodeInvalidArgument, op, "%s: the ending states no format, and request->format is 0", path)
		}
	}
	if r.Format == FormatCustom {
		return device.Errorf(device.CodeUnsupported, op, "request->format is custom: decoders only read")
	}
	order, err := weightjson.ParseOrder("request->specs_json", r.Specs)
	if err != nil {
		return err
	}
	if options.Texts, err = weightjson.ParseTexts("request->texts_json", r.Texts); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	end, err := w.begin(&reading{what: "a conversion", token: r.Callback.token(), cancel: cancel})
	if err != nil {
		return err
	}
	defer end()
	specs, err := w.specs(op, order, nil)
	if err != nil {
		return err
	}
	options.Progress = r.Callback.told(w.library, cancel)
	return w.source.Convert(ctx, specs, path, options)
}

// formatOf returns the format for the ending of a path; "": no format has it.
func formatOf(path string) weights.Format {
	switch filepath.Ext(path) {
	case ".safetensors":
		return FormatSafetensors.name()
	case ".gguf":
		return FormatGGUF.name()
	case ".npy", ".npz":
		return FormatNumPy.name()
	}
	return ""
}
