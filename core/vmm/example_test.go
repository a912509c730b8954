package vmm_test

import (
	"fmt"

	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm"
)

// Two models share one limit of 32 GiB, or of the whole device if that is less, because
// a higher limit is rejected. The limit does not bound their address space.
func ExampleNewElastic() {
	const gib = uint64(1) << 30
	for _, total := range []uint64{24 * gib, 80 * gib} {
		e := engine.New(devicetest.Open(devicetest.Config{TotalBytes: total}), engine.Options{})
		_, err := vmm.NewElastic(e, vmm.ElasticConfig{LimitBytes: 96 * gib})
		fmt.Println(err)
		s, err := vmm.NewElastic(e, vmm.ElasticConfig{Name: "serving", LimitBytes: min(32*gib, e.Info().TotalBytes)})
		if err != nil {
			fmt.Println(err)
			return
		}
		for id, virtual := range map[string]uint64{"chat": 64 * gib, "code": 32 * gib} {
			if _, err := s.Register(id, vmm.ModelConfig{VirtualBytes: virtual}); err != nil {
				fmt.Println(err)
			}
		}
		stats := s.GlobalStats()
		fmt.Println(s.Models(), stats.PhysicalLimitBytes/gib, stats.VirtualBytes/gib, stats.PhysicalBytes)
		if err := s.Close(false); err != nil {
			fmt.Println(err)
		}
		if err := e.Close(); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// test:0: shared.new: limit_bytes: requested 96 GiB, available 24 GiB: that is all the device has (FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY)
	// [chat code] 24 96 0
	// test:0: shared.new: limit_bytes: requested 96 GiB, available 80 GiB: that is all the device has (FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY)
	// [chat code] 32 96 0
}
