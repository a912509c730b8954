//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0
package main

import (
	"fmt"
	"os"

	"ferrum_mem/drivers"
	"ferrum_mem/drivers/probe"
)

func main() {
	if !probe.Asked(os.Args[1:]) {
		fmt.Fprintln(os.Stderr, "ferrum-mem-probe: started by libferrum_mem to look for devices; see ferrum-mem devices")
	}
	os.Exit(probe.Serve(os.Args[1:], drivers.Surveyors()))
}
