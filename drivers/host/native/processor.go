package native

import "strings"

// UnknownProcessor replaces a name that cannot be read.
const UnknownProcessor = "Unknown CPU"

// ProcessorOf returns the model of the first processor in the text of a /proc/cpuinfo, or
// "". On x86 and some others the text contains a name. On Arm it may contain the numbers of
// the implementer and the part of the core. If these are not known, the name of the board
// is used, which some kernels add.
func ProcessorOf(cpuinfo string) string {
	fields := map[string]string{}
	for line := range strings.Lines(cpuinfo) {
		key, value, _ := strings.Cut(line, ":")
		key, value = strings.TrimSpace(key), strings.Join(strings.Fields(value), " ")
		if _, seen := fields[key]; !seen && value != "" {
			fields[key] = value
		}
	}
	if name := fields["model name"]; name != "" {
		return name
	}
	if name := armName(fields["CPU implementer"], fields["CPU part"]); name != "" {
		return name
	}
	for _, key := range []string{"cpu model", "cpu", "Model", "Hardware"} {
		if name := fields[key]; name != "" {
			return name
		}
	}
	return ""
}

// armMakers and armParts are the numbers of the MIDR register, as the kernel writes them.
// They are created on use, because most machines never need them.
func armMakers() map[string]string {
	return map[string]string{
		"0x41": "Arm", "0x42": "Broadcom", "0x43": "Cavium", "0x46": "Fujitsu", "0x48": "HiSilicon", "0x4e": "NVIDIA",
		"0x50": "Applied Micro", "0x51": "Qualcomm", "0x53": "Samsung", "0x61": "Apple", "0x6d": "Microsoft", "0xc0": "Ampere",
	}
}

func armParts() map[string]string {
	return map[string]string{
		"0x41 0xd03": "Cortex-A53", "0x41 0xd04": "Cortex-A35", "0x41 0xd05": "Cortex-A55", "0x41 0xd07": "Cortex-A57",
		"0x41 0xd08": "Cortex-A72", "0x41 0xd09": "Cortex-A73", "0x41 0xd0a": "Cortex-A75", "0x41 0xd0b": "Cortex-A76",
		"0x41 0xd0c": "Neoverse N1", "0x41 0xd0d": "Cortex-A77", "0x41 0xd40": "Neoverse V1", "0x41 0xd41": "Cortex-A78",
		"0x41 0xd49": "Neoverse N2", "0x41 0xd4f": "Neoverse V2", "0x46 0x001": "A64FX", "0xc0 0xac3": "Ampere-1",
	}
}

func armName(maker, part string) string {
	maker, part = strings.ToLower(maker), strings.ToLower(part)
	name := armMakers()[maker]
	if name == "" || part == "" {
		return ""
	}
	if kind := armParts()[maker+" "+part]; kind != "" {
		return name + " " + kind
	}
	return name + " part " + part
}
