package native

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProcessorNamesAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"processor\t: 0\nmodel name\t: Intel(R)  Xeon(R)\tGold 6338\nmodel name\t: another\n":                  "Intel(R) Xeon(R) Gold 6338",
		"processor\t: 0\nBogoMIPS\t: 243.75\nCPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n": "Arm Neoverse N1",
		"CPU implementer : 0x41\nCPU part : 0xD4F\n":                                                           "Arm Neoverse V2",
		"CPU implementer : 0x61\nCPU part : 0x022\n":                                                           "Apple part 0x022",
		"CPU implementer : 0x99\nCPU part : 0x022\nModel : Raspberry Pi 4 Model B\n":                           "Raspberry Pi 4 Model B",
		"CPU implementer : 0x41\nHardware : BCM2835\n":                                                         "BCM2835",
		"cpu\t\t: POWER9, altivec supported\n":                                                                 "POWER9, altivec supported",
		"":                                                                                                     "",
		"processor : 0\n":                                                                                      "",
		"model name :\n":                                                                                       "",
		"model name\n":                                                                                         "",
		": no key\n":                                                                                           "",
		"CPU implementer : 0x41\n":                                                                             "",
		"model name :\nmodel name : the second has it\n":                                                       "the second has it",
	} {
		require.Equal(t, want, ProcessorOf(text), "%q", text)
	}
}
