// Package weights opens sources of named tensors and loads the tensors into the memory of devices.
//
// A source is a file, a folder, a checkpoint of several files, or memory. Package header reads the
// headers of its files; it reads no tensor. A Spec describes one tensor to load: its name in the source,
// its name after the load, the shape and type that it must have, and transformations. Load reads the
// tensors of a list into a Memory (blocks of a pool, pages of a model of an elastic pool, pages of a
// virtual pool) or into memory of the caller. It reads all tensors, or none:
//
//	s, err := weights.Open("model", weights.Options{})
//	...
//	defer s.Close()
//	specs, err := s.Select(weights.Selection{Exclude: []string{"lm_head.*"}, Prefix: "draft."})
//	...
//	set, err := s.Load(ctx, specs, weights.LoadOptions{Memory: weights.InPool(pool, "draft")})
//	...
//	defer set.Free()
//	for _, t := range set.Tensors {
//		fmt.Println(t.Name, t.Type, t.Shape, t.Addr)
//	}
//
// Start does the same on a worker. It returns a Loading, which reports the progress and the end of the
// load and can cancel it.
//
// How bytes move. Tensors are packed in the order of the files into one segment of each memory: view.go
// computes where each element of a transformed tensor is stored, tile.go reads it, and layout.go computes
// its place in memory. Threads read parts of a few megabytes, which meet at multiples of that size in the
// file. If the host can write the memory of the device, a part is read straight into its place. For other
// devices it is read into a page-locked staging buffer and copied from there, with several copies in
// flight. Package diskfile reads parts that the page cache does not hold around the cache.
//
// Map loads without a copy: the tensors are mapped pages of the files. Preload reads files into the page
// cache and can be undone. Verify compares the bytes of the files with SHA-256 sums. Only Sums and Verify
// compute sums.
//
// Rules of a spec: Shape is compared with the stored shape, before transformations. Type is compared with
// the type of the result, after transformations. If a folder has an index, Open opens the files of the
// index. Otherwise it opens the files of one format.
//
// A Source keeps its files open. So a load reads the files whose headers were read, even if another file
// of the same name has replaced one. Files of other formats that belong to a checkpoint (config.json, a
// tokenizer) are skipped. A path in an index or a model must stay in the folder of that index or model.
// The package never uses the network.
//
// Ownership: Open returns a Source to its caller, who closes it. The memory that OpenMemory opens belongs
// to the caller, who must not change it until Close. A Set belongs to the caller, who frees it. It stays
// valid after the source is closed.
//
// Lock order: Decoders.mu is a leaf. It is not held while a decoder runs. transfer.telling is held while
// a progress callback runs, and no other lock is. An open Source is read-only, and any number of threads
// may use it until Close.
//
// # Files in reading order
//
// files.go, decoders.go, source.go, parts.go, view.go, transformation.go, gather.go, tile.go, spec.go, memory.go, transfer.go,
// layout.go, staging.go, guard.go, load.go, loading.go, mapped.go, elements.go, preload.go,
// verify.go, formats.go, shards.go, rename_linux.go, outputs.go, convert.go, compose.go,
// metadata.go, metadata_text.go.
package weights
