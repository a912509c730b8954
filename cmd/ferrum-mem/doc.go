// Command ferrum-mem is the tool of ferrum_mem for operators. Its subcommands list the devices
// (devices), check the setup of the machine (doctor), compute whether a model fits (fit), print
// the graph of a model (graph), place buffers with known lifetimes into one arena (plan), read and
// convert files of weights (weights), build and run a model (run), and replay a recorded workload
// against a pool (replay).
//
// Every subcommand prints readable text, or one JSON object with --json, on the standard
// output. Messages and progress go to the standard error; progress is shown only if that is a
// terminal. The exit status is 0 for success, 1 for a negative result, 2 for bad usage or
// input, 3 for an error of the system, and 130 after an interrupt.
//
// Only three outputs outlive a run: the report of --report, the picture of --picture and the
// output of weights convert. They get their names when they are complete. The command makes
// no decision about memory: the core does.
//
// Lock order: the package has no locks.
package main
