package architecture

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/estimate"
	"ferrum_mem/core/weights"
	"ferrum_mem/core/weights/header"
)

const opSentence = "architecture.sentence"

// Pooling is a rule that makes one vector of the vectors of the tokens of a text.
type Pooling string

// The rules of pooling. Tokens whose attention_mask is 0 do not count.
const (
	PoolingMean Pooling = "mean"
	// PoolingCLS takes the vector of the first token.
	PoolingCLS Pooling = "cls"
	PoolingMax Pooling = "max"
)

// Sentence states how a model makes one vector of a text.
type Sentence struct {
	Pooling Pooling `json:"pooling"`
	// IsNormalized states that the vector is divided by its Euclidean norm.
	IsNormalized bool `json:"is_normalized"`
	// MaxTokens is the number of tokens after which a text is cut off; 0: the files do not state it. A
	// Definition has the maximum of the model then.
	MaxTokens uint64 `json:"max_tokens"`
}

const (
	modulesName = "modules.json"
	lengthName  = "sentence_bert_config.json"
	// maxSentenceBytes is the longest file of sentence-transformers that is read.
	maxSentenceBytes = 64 << 10
	// maxModules is the maximum number of modules.
	maxModules = 16
	// maxPath is the length of the longest path of a module.
	maxPath = 255
)

// module is an entry of modules.json: one step from a text to its vector.
type module struct {
	Path string `json:"path"`
	Type string `json:"type"`
}

// ReadSentence reads modules.json of a folder with the files that it names, or the metadata of a GGUF
// file. It returns nil if the model does not state how to make a vector. Errors: CodeInvalidFormat;
// CodeUnsupported for a module or a rule of pooling that is not known; CodeIO.
func ReadSentence(path string) (*Sentence, error) {
	if strings.HasSuffix(path, ".gguf") {
		return ggufSentence(path)
	}
	if _, err := os.Stat(filepath.Join(path, modulesName)); os.IsNotExist(err) {
		if found, _ := filepath.Glob(filepath.Join(path, "*.gguf")); len(found) > 0 {
			return ggufSentence(path)
		}
		return nil, nil
	}
	var modules []module
	file := filepath.Join(path, modulesName)
	if err := readJSON(file, &modules); err != nil {
		return nil, err
	}
	if len(modules) > maxModules {
		return nil, device.Errorf(device.CodeInvalidFormat, opSentence, "%s: has %d modules, more than %d", file, len(modules), maxModules)
	}
	s := &Sentence{}
	for at, m := range modules {
		kind := m.Type[strings.LastIndexByte(m.Type, '.')+1:]
		if !filepath.IsLocal(filepath.Join(".", m.Path)) || strings.ContainsRune(m.Path, 0) || len(m.Path) > maxPath {
			return nil, device.Errorf(device.CodeInvalidFormat, opSentence, "%s: [%d].path: %.60q is not in the folder", file, at, m.Path)
		}
		var err error
		switch {
		case kind == "Transformer" && at == 0:
			err = s.readLength(filepath.Join(path, m.Path))
		case kind == "Pooling" && at == 1:
			err = s.readPooling(filepath.Join(path, m.Path, estimate.ConfigName))
		case kind == "Normalize" && at == 2:
			s.IsNormalized = true
		default:
			return nil, device.Errorf(device.CodeUnsupported, opSentence, "%s: [%d].type: %.80q is not known here: expected Transformer, Pooling, Normalize", file, at, m.Type)
		}
		if err != nil {
			return nil, err
		}
	}
	if s.Pooling == "" {
		return nil, device.Errorf(device.CodeUnsupported, opSentence, "%s: there is no module of the type Pooling", file)
	}
	return s, nil
}

// readLength reads the number of tokens after which a text is cut off.
func (s *Sentence) readLength(folder string) error {
	file := filepath.Join(folder, lengthName)
	if _, err := os.Stat(file); os.IsNotExist(err) {
		return nil
	}
	var settings struct {
		MaxTokens *uint64 `json:"max_seq_length"`
	}
	if err := readJSON(file, &settings); err != nil {
		return err
	}
	if settings.MaxTokens != nil {
		s.MaxTokens = *settings.MaxTokens
	}
	return nil
}

// readPooling reads the one rule of pooling that a file sets.
func (s *Sentence) readPooling(file string) error {
	var settings map[string]any
	if err := readJSON(file, &settings); err != nil {
		return err
	}
	known := map[string]Pooling{
		"pooling_mode_mean_tokens": PoolingMean, "pooling_mode_cls_token": PoolingCLS, "pooling_mode_max_tokens": PoolingMax,
	}
	for key, setting := range settings {
		if !strings.HasPrefix(key, "pooling_mode_") || setting == false || setting == nil {
			continue
		}
		rule, isKnown := known[key]
		switch {
		case setting != true:
			return device.Errorf(device.CodeInvalidFormat, opSentence, "%s: %.60q is neither true nor false", file, key)
		case !isKnown:
			return device.Errorf(device.CodeUnsupported, opSentence, "%s: %.60q is not known here: expected pooling by mean, cls or max", file, key)
		case s.Pooling != "":
			return device.Errorf(device.CodeUnsupported, opSentence, "%s: has more than one rule of pooling: %s and %s", file, min(s.Pooling, rule), max(s.Pooling, rule))
		}
		s.Pooling = rule
	}
	if s.Pooling == "" {
		return device.Errorf(device.CodeInvalidFormat, opSentence, "%s: has no rule of pooling", file)
	}
	return nil
}

// ggufSentence reads the metadata of GGUF files.
func ggufSentence(path string) (*Sentence, error) {
	source, err := weights.Open(path, weights.Options{Formats: []weights.Format{header.GGUF}})
	if err != nil {
		return nil, err
	}
	defer func() { _ = source.Close() }()
	values := source.Values()
	key := values["general.architecture"].Text + ".pooling_type"
	kind, ok := values[key]
	if !ok {
		return nil, nil
	}
	if !kind.IsWhole() {
		return nil, device.Errorf(device.CodeInvalidFormat, opSentence, "%s: %.60q is not a whole number", path, key)
	}
	// The numbers are those of llama.cpp.
	switch kind.Number {
	case 0:
		return nil, nil
	case 1:
		return &Sentence{Pooling: PoolingMean}, nil
	case 2:
		return &Sentence{Pooling: PoolingCLS}, nil
	}
	return nil, device.Errorf(device.CodeUnsupported, opSentence, "%s: %.60q is %d: only pooling by mean (1) and cls (2) is known", path, key, kind.Number)
}

// readJSON reads a small file.
func readJSON(file string, into any) error {
	text, err := estimate.ReadFile(opSentence, file, maxSentenceBytes)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return device.Errorf(device.CodeInvalidFormat, opSentence, "%s: %v", file, err)
	}
	return nil
}
