package host

import "golang.org/x/sys/unix"

// nativeMemTotal is the machine's memory where there is no /proc.
func nativeMemTotal() uint64 {
	total, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return total
}

func nativeProcessorName() string {
	name, err := unix.Sysctl("machdep.cpu.brand_string")
	if err != nil {
		return ""
	}
	return name
}
