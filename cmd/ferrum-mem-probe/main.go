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
		fmt.Fprintln(os.Stderr, "ferrum-mem-probe: libferrum_mem starts this program to find devices; run 'ferrum-mem devices' instead")
	}
	os.Exit(probe.Serve(os.Args[1:], drivers.Surveyors()))
}
