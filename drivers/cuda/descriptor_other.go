//go:build !linux

package cuda

import "errors"

const shareDescriptors = false

var errNoDescriptors = errors.New("memory is not shared by descriptors on this system")

func checkDescriptor(int) error { return errNoDescriptors }

func keepFromPrograms(int) error { return errNoDescriptors }

func closeDescriptor(int) error { return errNoDescriptors }
