// Package weights opens sources of named tensors and loads the tensors into the memory of devices.
//
// A source is a file, a folder, a checkpoint of several files, or memory. Package header reads what it
// holds; no tensor is read for that. A Spec orders one tensor: its name in the source, its name
// afterwards, what shape and type it must have, and transformations. Load reads all tensors of a list
// into a Memory (blocks of a pool, pages of a model of an elastic pool, pages of a virtual pool) or into
// memory of the caller, or it reads none:
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
// Start does the same on a worker; a Loading has the progress, the end, and Cancel.
//
// How bytes move. Tensors are packed in the order of the files into one segment of each memory (view.go
// says where each element of a transformed tensor is stored, tile.go reads it, layout.go places it).
// Threads read parts of a few megabytes. On a device that the host can write, a part is read straight
// into its place. For other devices it is read into a page-locked staging buffer and copied from there,
// with several copies in flight. Package diskfile reads around the page cache what the cache does not
// hold.
//
// Map loads without a copy: the tensors are the pages of the files. Preload reads files into the page
// cache and can be undone. Verify compares the bytes of the files with SHA-256 sums; nothing else
// computes sums.
//
// Rules of a spec: Shape is compared with the stored shape, before transformations; Type with the type
// of the result, after them. A folder is opened by its index, else by its files of one format.
//
// A Source keeps its files open, so that what was described is what is read later, also when a file of
// the same name replaces one. Files of other formats that belong to a checkpoint (config.json, a
// tokenizer) are skipped. A path that an index or a model names stays in the folder of the file that
// names it. The package never uses the network.
//
// Ownership: Open gives a Source to its caller, who closes it. Memory that a source is opened on
// belongs to the caller and stays unchanged until Close. A Set belongs to the caller, who frees it; it
// needs the source no more.
//
// Lock order: Decoders.mu is a leaf; it is not held while a decoder runs. transfer.telling is held while
// a callback of progress runs, and no other lock is. A Source is read-only once it is open, and may be
// used from any number of threads until Close.
//
// # Files in reading order
//
// files.go, decoders.go, source.go, parts.go, view.go, transformation.go, gather.go, tile.go, spec.go, memory.go, transfer.go,
// layout.go, staging.go, guard.go, load.go, loading.go, mapped.go, preload.go,
// verify.go, formats.go, shards.go, outputs.go, convert.go,
// metadata.go.
package weights
