package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPTXIsParsed(t *testing.T) {
	entries, err := readEntries(string(firstOtherText))
	require.NoError(t, err)
	require.Equal(t, map[string][]int{firstOtherName: {8, 8, 4, 8}}, entries)

	entries, err = readEntries(`
		// .entry hidden(.param .u8 a)
		.version 7.2 // of 2021
		.target sm_50
		.address_size 64
		/* .entry also_hidden() {
		   } */
		.visible .func helper(.param .b32 a) { ret; }
		.visible .entry none() { ret; }
		.entry without
		{ ret; }
		mov.u32 %r1, 4/2;
		.weak .entry $all_(
			.param .u64 .ptr .global .align 16 p, .param .align 8 .b8 s[24],
			.param .f32 x , .param .b16 h, .param .b128 w, .param .align 4 .b8 m[2][ 3 ]
		)
		.maxntid 128, 1, 1
		{ ret; }`)
	require.NoError(t, err)
	require.Equal(t, map[string][]int{"none": nil, "without": nil, "$all_": {8, 24, 4, 2, 16, 6}}, entries)
}

func TestInvalidPTXIsRejected(t *testing.T) {
	for text, why := range map[string]string{
		"":                                            "it does not begin with a .version",
		"\x7fELF":                                     "it does not begin with a .version",
		"// .version 7.0":                             "it does not begin with a .version",
		".target sm_50\n.version 7.0":                 "it does not begin with a .version",
		".version":                                    "it does not begin with a .version",
		".version 7.0\n.entry":                        "has no name",
		".version 7.0\n.entry (":                      "has no name",
		".version 7.0\n.entry k":                      "has no name that ends",
		".version 7.0\n.entry k(.param .u64 a":        "kernel k: its arguments have no end",
		".version 7.0\n.entry k(.param)":              `kernel k: argument 0: ".param": has no type`,
		".version 7.0\n.entry k(.param .u64 a,)":      `kernel k: argument 1: "" is not a declaration`,
		".version 7.0\n.entry k(.reg .u64 a)":         "is not a declaration of an argument",
		".version 7.0\n.entry k(.param .u63 a)":       "has no type that is known",
		".version 7.0\n.entry k(.param .b8 a[0])":     "has no size that an argument can have",
		".version 7.0\n.entry k(.param .b8 a[32765])": "has no size that an argument can have",
		".version 7.0\n.entry k(.param .b8 a[99999999999999999999])":      "has no size that an argument can have",
		".version 7.0\n.entry k(.param .b64 a[4000], .param .b64 b[100])": "argument 1: the arguments have more than 32764 bytes",
	} {
		_, err := readEntries(text)
		require.ErrorContains(t, err, why, "%q", text)
	}
}

func TestTargetOfPTX(t *testing.T) {
	for text, want := range map[string]int{
		string(firstOtherText): 50,
		".version 7.0\n// .target sm_80\n.target\tsm_90a, texmode_independent\n": 90,
		".target sm_120": 120,
		".target sm_":    0, ".target compute_90": 0, ".version 7.0": 0, "": 0,
		".target sm_99999999999999999999": 0,
	} {
		require.Equal(t, want, readTarget(text), "%q", text)
	}
}

// The parser does not panic, whatever the text is.
func TestRandomPTXNeverPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.SampledFrom([]string{
			".version 7.0\n", ".entry", " k", "(", ")", ".param", " .u64 ", ".b8 a[", "9", "]", ",", "//", "/*", "*/", "\n", "{", "}", "[",
		})).Draw(t, "words")
		text := ""
		for _, word := range words {
			text += word
		}
		entries, err := readEntries(text)
		for _, sizes := range entries {
			for _, size := range sizes {
				require.True(t, err == nil && size > 0 && size <= mostArgumentBytes)
			}
		}
	})
}
