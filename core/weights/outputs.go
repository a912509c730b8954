package weights

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
)

// outputs are the files of one conversion. At the end all of them get their names, or none does.
// Until then their bytes are in hidden files of the same folder.
type outputs struct {
	list []output
	// replaces states that existing files may be replaced.
	replaces bool
}

type output struct {
	path string
	// part is the path of the hidden file. former is a second name of the file that is replaced;
	// "": no file is replaced.
	part, former string
	// isPlaced states that path now names the new file.
	isPlaced bool
}

// add creates another file.
func (o *outputs) add(path string, write func(io.Writer) error) error {
	folder := filepath.Dir(path)
	file, err := os.CreateTemp(folder, "."+filepath.Base(path)+".*.part")
	if err != nil {
		return convertError(folder, err)
	}
	o.list = append(o.list, output{path: path, part: file.Name()})
	err = write(file)
	if err == nil {
		err = convertError(path, file.Sync())
	}
	if closed := file.Close(); err == nil {
		err = convertError(path, closed)
	}
	if err == nil {
		err = convertError(path, os.Chmod(file.Name(), 0o644))
	}
	return err
}

// place gives the files their names, in their order. A single file replaces an old one atomically. Errors:
// CodeAlreadyExists for a name that exists now, if no file may be replaced.
func (o *outputs) place() error {
	for at := range o.list {
		of := &o.list[at]
		if !o.replaces {
			err := placeNew(of.part, of.path, renameExclusive)
			if errors.Is(err, fs.ErrExist) {
				return existsAlready(of.path)
			}
			if err != nil {
				return convertError(of.path, err)
			}
			of.isPlaced = true
			continue
		}
		if len(o.list) > 1 {
			former := of.part + ".former"
			switch err := os.Link(of.path, former); {
			case err == nil:
				of.former = former
			case !errors.Is(err, fs.ErrNotExist):
				return convertError(of.path, err)
			}
		}
		if err := os.Rename(of.part, of.path); err != nil {
			return convertError(of.path, err)
		}
		of.isPlaced = true
	}
	return nil
}

// placeNew renames a file, unless the new name exists. For file systems whose rename replaces a file, it
// creates a hard link, which fails if the name exists. On file systems without hard links it checks first
// whether the name exists; another writer may create the name in between.
func placeNew(from, to string, rename func(from, to string) error) error {
	err := rename(from, to)
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EOPNOTSUPP) {
		return err
	}
	err = os.Link(from, to)
	if err == nil {
		if err = os.Remove(from); err != nil {
			err = errors.Join(err, os.Remove(to))
		}
		return err
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return os.Rename(from, to)
}

func existsAlready(path string) error {
	return device.Errorf(device.CodeAlreadyExists, opConvert, "%s: the file exists already", path)
}

// undo removes all files, and restores the files that they have replaced.
func (o *outputs) undo() error {
	var failed error
	for _, of := range o.list {
		var err error
		switch {
		case of.isPlaced && of.former != "":
			err = os.Rename(of.former, of.path)
		case of.isPlaced:
			err = os.Remove(of.path)
		default:
			err = errors.Join(os.Remove(of.part), remove(of.former))
		}
		failed = errors.Join(failed, convertError(of.path, err))
	}
	return failed
}

// end removes the second names of the replaced files.
func (o *outputs) end() error {
	var failed error
	for _, of := range o.list {
		failed = errors.Join(failed, convertError(of.path, remove(of.former)))
	}
	return failed
}

// remove removes a file; "": there is no file.
func remove(path string) error {
	if path == "" {
		return nil
	}
	return os.Remove(path)
}
