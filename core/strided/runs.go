package strided

// Run is a number of elements that lie at constant distances in two layouts of the same shape:
// element i lies at the place From + i*FromStep of one layout, and at To + i*ToStep of the
// other.
type Run struct {
	From, FromStep int64
	To, ToStep     int64
	Count          int64
}

// Pairs calls each for all elements of two layouts of the same shape, in runs that are as long
// as possible, until each returns an error. Adjacent dimensions that are adjacent in both
// layouts become one. The runs are in the order of the shape.
func Pairs(from, to *Layout, each func(Run) error) error {
	if from.Elements() == 0 {
		return nil
	}
	var shape, out, in [MostDimensions]int64
	dimensions := 0
	for i, length := range from.Shape() {
		if length == 1 {
			continue
		}
		a, b := from.strides[i], to.strides[i]
		if last := dimensions - 1; last >= 0 && in[last] == a*length && out[last] == b*length {
			shape[last], in[last], out[last] = shape[last]*length, a, b
			continue
		}
		shape[dimensions], in[dimensions], out[dimensions] = length, a, b
		dimensions++
	}
	run := Run{From: from.first, To: to.first, Count: 1}
	if dimensions > 0 {
		dimensions--
		run.Count, run.FromStep, run.ToStep = shape[dimensions], in[dimensions], out[dimensions]
	}
	var index [MostDimensions]int64
	for {
		if err := each(run); err != nil {
			return err
		}
		// The next index of the outer dimensions, the last of which is the fastest.
		i := dimensions - 1
		for ; i >= 0; i-- {
			index[i]++
			run.From, run.To = run.From+in[i], run.To+out[i]
			if index[i] < shape[i] {
				break
			}
			run.From, run.To = run.From-shape[i]*in[i], run.To-shape[i]*out[i]
			index[i] = 0
		}
		if i < 0 {
			return nil
		}
	}
}
