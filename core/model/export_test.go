package model

// UseSmallTiles lets the shapes that a model plans from now on have tiles of any size, if they save anything.
func (x *Executor) UseSmallTiles() {
	rule := standardRule()
	rule.leastArenaBytes, rule.leastTileBytes = 0, 0
	rule.leastGain, rule.leastGainOfAll = 1<<20, 1<<20
	x.program.rule = rule
}
