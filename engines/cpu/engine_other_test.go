//go:build !cgo

package cpu

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"ferrum_mem/core/device"
)

func TestABuildWithoutCgoSaysSo(t *testing.T) {
	_, err := Open(Config{})
	assert.ErrorIs(t, err, device.CodeUnsupported)
	assert.ErrorContains(t, err, "need a build with cgo")
	assert.Empty(t, Sets())
}
