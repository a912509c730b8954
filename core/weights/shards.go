package weights

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/weights/header"
)

// A checkpoint of several safetensors files gets the names that published checkpoints have: the
// files model-00001-of-00003.safetensors and so on, and model.safetensors.index.json, which names
// the file of each tensor.

const shardEnding = ".safetensors"

// entryBytes is an upper bound of a tensor's entry in a header, without its name.
const entryBytes = 512

// split distributes tensors, in their order, to files of at most most bytes. A larger tensor gets a
// file of its own.
func split(tensors []named, texts map[string]string, most uint64) ([][]named, error) {
	raw, err := json.Marshal(texts)
	if err != nil {
		return nil, err
	}
	start := uint64(len(raw)) + entryBytes
	var shards [][]named
	size := uint64(0)
	for _, of := range tensors {
		name, err := json.Marshal(of.name)
		if err != nil {
			return nil, err
		}
		more := of.size + uint64(len(name)) + entryBytes
		if len(shards) == 0 || size+more > most && len(shards[len(shards)-1]) > 0 {
			shards, size = append(shards, nil), start
		}
		last := len(shards) - 1
		shards[last] = append(shards[last], of)
		size += more
	}
	return shards, nil
}

// shardContents returns the files of a conversion with a bounded file size. The index is the last
// file.
func shardContents(tensors []named, path string, options ConvertOptions) ([]content, error) {
	base, isOne := strings.CutSuffix(path, shardEnding)
	switch {
	case options.Format != header.Safetensors:
		return nil, device.Errorf(device.CodeUnsupported, opConvert, "%s: only safetensors can be written to several files, not %s", path, options.Format)
	case !isOne || filepath.Base(path) == shardEnding:
		return nil, device.Errorf(device.CodeInvalidArgument, opConvert, "%s: the name of a checkpoint in several files ends in %s", path, shardEnding)
	}
	shards, err := split(tensors, options.Texts, options.MaxFileBytes)
	switch {
	case err != nil:
		return nil, err
	case len(shards) > header.MaxShards:
		return nil, device.Errorf(device.CodeInvalidSize, opConvert, "%s: files of %v would be %d, and at most %d are written", path, device.Size(options.MaxFileBytes), len(shards), header.MaxShards)
	case len(shards) <= 1:
		pieces, err := safetensorsPieces(tensors, options.Texts)
		return []content{{path: path, pieces: pieces}}, err
	}
	var list []content
	total, fileOf := uint64(0), map[string]string{}
	for at, shard := range shards {
		name := fmt.Sprintf("%s-%05d-of-%05d%s", base, at+1, len(shards), shardEnding)
		pieces, err := safetensorsPieces(shard, options.Texts)
		if err != nil {
			return nil, err
		}
		list = append(list, content{path: name, pieces: pieces})
		for _, of := range shard {
			fileOf[of.name] = filepath.Base(name)
			total += of.size
		}
	}
	index, err := json.MarshalIndent(map[string]any{"metadata": map[string]uint64{"total_size": total}, "weight_map": fileOf}, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(list, content{path: path + indexSuffix, pieces: []piece{{before: append(index, '\n')}}}), nil
}
