package estimate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// moreModels has more models, with configurations as those of plainModels.
// testdata/reference.py counted each number of parameters: it runs the modelling file of
// the wheel transformers 4.57.6 (5.24.0 for nemotron_h) with a replacement for torch that
// keeps only shapes, and adds up the tensors. For the models marked "files", public records
// of the repository state the same number for the files of the model.
var moreModels = []publishedModel{
	// files; the total_size of its index is 13,761,264,768 bytes, which
	// TestWeightsWithQuantisedExperts checks.
	{"gpt-oss-20b", "openai/gpt-oss-20b", 20914757184},
	{"gpt-oss-120b", "openai/gpt-oss-120b", 116829156672}, // files
	// files of Qwen3-Coder-Next, which has the same structure. The files of this model also
	// have a layer that predicts further tokens: 81,324,862,720 parameters in all.
	{"qwen3-next-80b-a3b", "Qwen/Qwen3-Next-80B-A3B-Instruct", 79674391296},

	{"mamba-130m", "state-spaces/mamba-130m-hf", 129135360},  // files
	{"mamba-2.8b", "state-spaces/mamba-2.8b-hf", 2768345600}, // files
	{"mamba-codestral-7b", "mistralai/Mamba-Codestral-7B-v0.1", 7285403648},
	{"falcon-mamba-7b", "tiiuae/falcon-mamba-7b", 7272665088},
	{"jamba-v0.1", "ai21labs/Jamba-v0.1", 51570323328}, // files
	{"bamba-9b", "ibm-ai-platform/Bamba-9B-v1", 9780235392},
	{"zamba2-1.2b", "Zyphra/Zamba2-1.2B", 1215064704}, // files
	{"zamba2-7b", "Zyphra/Zamba2-7B", 7356749648},
	{"granite-4.0-h-tiny", "ibm-granite/granite-4.0-h-tiny", 6939037248},
	{"granite-4.0-h-small", "ibm-granite/granite-4.0-h-small", 32207337984}, // files
	{"granite-4.0-h-micro", "ibm-granite/granite-4.0-h-micro", 3191396096},
	{"nemotron-h-8b", "nvidia/Nemotron-H-8B-Base-8K", 8100852736},
	{"nemotron-nano-9b-v2", "nvidia/NVIDIA-Nemotron-Nano-9B-v2", 8888227328}, // files
	{"falcon-h1-0.5b", "tiiuae/Falcon-H1-0.5B-Base", 521411104},
	{"falcon-h1-7b", "tiiuae/Falcon-H1-7B-Base", 7585519712},
	{"lfm2-350m", "LiquidAI/LFM2-350M", 354483968},
	{"lfm2-700m", "LiquidAI/LFM2-700M", 742489344},
	{"lfm2-1.2b", "LiquidAI/LFM2-1.2B", 1170340608}, // files
	{"recurrentgemma-2b", "google/recurrentgemma-2b", 2682862080},

	{"bloom-560m", "bigscience/bloom-560m", 559214592},
	{"electra-base", "google/electra-base-discriminator", 108891648},
	{"electra-small", "google/electra-small-discriminator", 13483008},
	{"camembert-base", "almanach/camembert-base", 110621952},
	{"command-r-35b", "CohereLabs/c4ai-command-r-v01", 34980831232},
	{"command-r7b", "CohereLabs/c4ai-command-r7b-12-2024", 8028033024},
	{"ernie-4.5-0.3b", "baidu/ERNIE-4.5-0.3B-PT", 360748032},
	{"exaone-4.0-1.2b", "LGAI-EXAONE/EXAONE-4.0-1.2B", 1279391488},
	{"exaone-4.0-32b", "LGAI-EXAONE/EXAONE-4.0-32B", 32003216384},
	{"gemma-2b", "google/gemma-2b", 2506172416},
	{"glm-4-9b-0414", "zai-org/GLM-4-9B-0414", 9400279040}, // files
	{"glm-4-9b-chat", "zai-org/glm-4-9b-chat-hf", 9399951360},
	{"gpt-j-6b", "EleutherAI/gpt-j-6b", 6050882784},
	{"gpt2", "openai-community/gpt2", 124439808},
	{"granite-3.1-3b-a800m", "ibm-granite/granite-3.1-3b-a800m-base", 3298793472},
	{"granite-3.3-8b", "ibm-granite/granite-3.3-8b-instruct", 8170864640}, // files
	{"minitron-4b", "nvidia/Minitron-4B-Base", 4190509056},
	{"olmo-2-7b", "allenai/OLMo-2-1124-7B", 7298617344},     // files
	{"olmoe-1b-7b", "allenai/OLMoE-1B-7B-0924", 6919161856}, // files
	{"opt-1.3b", "facebook/opt-1.3b", 1315758080},
	{"pythia-410m", "EleutherAI/pythia-410m", 405334016},              // files
	{"seed-oss-36b", "ByteDance-Seed/Seed-OSS-36B-Base", 36151104512}, // files
	{"smollm3-3b", "HuggingFaceTB/SmolLM3-3B", 3075098624},            // files
	{"stablelm-2-1.6b", "stabilityai/stablelm-2-1_6b", 1644515328},    // files
	{"starcoder2-3b", "bigcode/starcoder2-3b", 3030371328},
}

// At least 40 families are tested with a published model, and every family is tested. A
// configuration of the family gemma3 has its text model, gemma3_text, inside, so a test of
// that model covers both.
func TestPublishedModelsAreOfManyFamilies(t *testing.T) {
	tried := map[string]bool{}
	for _, p := range published {
		tried[readConfig(t, p.file).Type] = true
	}
	assert.GreaterOrEqual(t, len(tried), 40)
	tried["gemma3"] = tried["gemma3_text"]
	for _, name := range ModelTypes() {
		assert.True(t, tried[name], "no published model of the family %s is tried", name)
	}
}

// The expected values are the states of a sequence in layers without attention, by the
// shapes of the caches in the reference implementations. Recurrent states have 32 bits. The
// inputs of a convolution have the type of the activations, here 16 bits.
func TestStatesOfPublishedModels(t *testing.T) {
	for _, c := range []struct {
		name           string
		state, kvToken uint64
	}{
		{"mamba-2.8b", 64 * (5120*4*4 + 5120*16*4), 0}, // activations in 32 bits
		{"mamba-codestral-7b", 64 * ((8192+2*8*128)*4*2 + 128*64*128*4), 0},
		{"falcon-mamba-7b", 64 * (8192*4*2 + 8192*16*4), 0},
		{"jamba-v0.1", 28 * (8192*4*2 + 8192*16*4), 4 * 2 * 8 * 128 * 2},
		{"bamba-9b", 29 * ((8192+2*128)*4*2 + 128*64*128*4), 3 * 2 * 8 * 128 * 2},
		{"zamba2-1.2b", 38 * ((4096+2*128)*4*2 + 64*64*128*4), 6 * 2 * 32 * 128 * 2},
		{"granite-4.0-h-small", 36 * ((8192+2*128)*4*2 + 128*64*128*4), 4 * 2 * 8 * 128 * 2},
		{"nemotron-nano-9b-v2", 27 * ((10240+2*8*128)*4*2 + 128*80*128*4), 4 * 2 * 8 * 128 * 2},
		{"falcon-h1-7b", 44 * ((3072+2*256)*4*2 + 24*128*256*4), 44 * 2 * 2 * 128 * 2},
		{"lfm2-1.2b", 10 * 2048 * 3 * 2, 6 * 2 * 8 * 64 * 2},
		{"qwen3-next-80b-a3b", 36 * ((2*2048+4096)*4*2 + 32*128*128*4), 12 * 2 * 2 * 256 * 2},
		{"recurrentgemma-2b", 18 * (2560*4*2 + 2560*4), 8 * 2 * 1 * 256 * 2},
	} {
		x := subject(t, c.name)
		for _, context := range []uint64{64, 640} {
			p := planOf(t, x, Serving{Context: context, Batch: 3})
			assert.Equal(t, 3*c.state, p.StateBytes, "%s: as long as it may be", c.name)
			assert.Equal(t, 3*context*c.kvToken, p.KVCacheBytes, c.name)
			live := p.WeightsBytes + p.BufferBytes + p.KVCacheBytes + p.StateBytes + p.ActivationBytes
			assert.Equal(t, live, p.TotalBytes, c.name)
		}
	}
}

// The expected value is the bytes in the files of gpt-oss-20b: experts with 4 bits and a
// scale of 8 bits for every 32 elements, everything else with 16 bits.
func TestWeightsWithQuantisedExperts(t *testing.T) {
	p := planOf(t, subject(t, "gpt-oss-20b"), Serving{Context: 1, Batch: 1})
	assert.EqualValues(t, 13761264768, p.WeightsBytes)
}

// A state space with heads is divided among the devices by its heads, in whole groups. Its
// state is divided in the same way.
func TestMixersOnSeveralDevices(t *testing.T) {
	x := subject(t, "mamba-codestral-7b")
	one := planOf(t, x, Serving{Context: 1, Batch: 1})
	for _, tp := range []uint64{2, 4, 8} {
		p := planOf(t, x, Serving{Context: 1, Batch: 1, TensorParallel: tp})
		assert.Equal(t, one.StateBytes/tp, p.StateBytes)
		assert.Equal(t, one.Parameters, p.Parameters)
	}
	// With more devices than groups, each device holds one whole group.
	p := planOf(t, x, Serving{Context: 1, Batch: 1, TensorParallel: 16})
	assert.EqualValues(t, 64*((8192/16+2*128)*4*2+8*64*128*4), p.StateBytes)
	_, err := x.Plan(Serving{Context: 1, Batch: 1, TensorParallel: 3})
	require.ErrorContains(t, err, "tensor_parallel 3: the 128 heads of the mamba layers cannot be divided by 3")
}
