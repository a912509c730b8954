package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"ferrum_mem/core/architecture"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/drivers/installed"
)

// runReport is a run for people and programs.
type runReport struct {
	Name           string `json:"name"`
	Device         string `json:"device"`
	Rows           int64  `json:"rows"`
	Sequence       int64  `json:"sequence"`
	Parameters     uint64 `json:"parameters"`
	ParameterBytes uint64 `json:"parameter_bytes"`
	ArenaBytes     uint64 `json:"arena_bytes"`
	// HeldBytes is the memory of the device that the model has.
	HeldBytes uint64 `json:"held_bytes"`
	BuildNS   int64  `json:"build_ns"`
	// Runs is the number of timed runs. The first one also plans.
	Runs     int           `json:"runs"`
	ShortNS  int64         `json:"shortest_run_ns"`
	MedianNS int64         `json:"median_run_ns"`
	Outputs  []valueReport `json:"outputs"`
	// Sentence is nil without --pool, and Sleep without --sleep.
	Sentence *sentenceReport `json:"sentence,omitempty"`
	Sleep    *sleepReport    `json:"sleep,omitempty"`
	times    []time.Duration
}

// valueReport is an output.
type valueReport struct {
	Name  string  `json:"name"`
	DType string  `json:"dtype"`
	Shape []int64 `json:"shape"`
	// Values are in the order of the shape.
	Values numbers `json:"values"`
}

// sentenceReport has the vector of each row, and the cosine of each pair of rows.
type sentenceReport struct {
	architecture.Sentence
	Vectors []numbers `json:"vectors"`
	Cosines []numbers `json:"cosines"`
}

type sleepReport struct {
	// ReleasedBytes went back to the system. AsleepBytes is what the device still held.
	ReleasedBytes uint64 `json:"released_bytes"`
	AsleepBytes   uint64 `json:"asleep_bytes"`
	RestoredBytes uint64 `json:"restored_bytes"`
	SleepNS       int64  `json:"sleep_ns"`
	WakeNS        int64  `json:"wake_ns"`
	// SameBits states that the outputs after the wake have the bits of those before the sleep.
	SameBits bool `json:"same_bits"`
}

// numbers are values with the shortest decimals that give the same number of bits back. JSON has
// null for a value that is not finite.
type numbers struct {
	values []float64
	bits   int
}

func (n numbers) MarshalJSON() ([]byte, error) {
	text := []byte{'['}
	for i, v := range n.values {
		if i > 0 {
			text = append(text, ',')
		}
		if math.IsInf(v, 0) || math.IsNaN(v) {
			text = append(text, "null"...)
		} else {
			text = strconv.AppendFloat(text, v, 'g', -1, n.bits)
		}
	}
	return append(text, ']'), nil
}

func (n *numbers) UnmarshalJSON(text []byte) error {
	n.bits = 64
	return json.Unmarshal(text, &n.values)
}

// take fills the report from the times and outputs of a run.
func (r *runReport) take(outputs, inputs []installed.Tensor) error {
	r.Rows, r.Sequence = inputs[0].Shape[0], inputs[0].Shape[1]
	slices.Sort(r.times)
	r.Runs, r.ShortNS, r.MedianNS = len(r.times), r.times[0].Nanoseconds(), r.times[len(r.times)/2].Nanoseconds()
	for _, t := range outputs {
		v, err := valuesOf(t)
		if err != nil {
			return err
		}
		r.Outputs = append(r.Outputs, valueReport{t.Name, dtype.DType(t.DType).String(), slices.Clone(t.Shape), v})
	}
	return nil
}

// valuesOf converts the elements of a tensor.
func valuesOf(t installed.Tensor) (numbers, error) {
	count := 1
	for _, side := range t.Shape {
		count *= int(side)
	}
	wide := make([]byte, count*8)
	if err := dtype.Convert(dtype.F64, wide, dtype.DType(t.DType), t.Elements); err != nil {
		return numbers{}, err
	}
	n := numbers{values: make([]float64, count), bits: 64}
	if dtype.DType(t.DType) == dtype.F32 {
		n.bits = 32
	}
	for i := range n.values {
		n.values[i] = math.Float64frombits(binary.LittleEndian.Uint64(wide[i*8:]))
	}
	return n, nil
}

// tensor makes an input of zeros with a place for each id.
func (b *idRows) tensor(name string) *installed.Tensor {
	return &installed.Tensor{Name: name, DType: uint32(dtype.I64), Shape: []int64{int64(len(b.rows)), int64(b.length)}, Elements: make([]byte, len(b.rows)*b.length*8)}
}

func setInteger(t *installed.Tensor, at int, value int64) {
	binary.LittleEndian.PutUint64(t.Elements[at*8:], uint64(value))
}

// pooled makes a vector of each row in float64, and compares them. Padding does not count.
func (b *idRows) pooled(r *runReport, w wanted) (*sentenceReport, error) {
	states := r.Outputs[w.pooled]
	if len(states.Shape) != 3 || states.Shape[0] != int64(len(b.rows)) || states.Shape[1] != int64(b.length) {
		return nil, device.Errorf(device.CodeInvalidArgument, "run.pool", "%s has the shape %v, not rows, tokens and width", states.Name, states.Shape)
	}
	width := int(states.Shape[2])
	made := &sentenceReport{Sentence: *w.sentence}
	for row, ids := range b.rows {
		begin := row * b.length * width
		vector := poolTokens(states.Values.values[begin:begin+len(ids)*width], width, w.sentence.Pooling)
		if length := math.Sqrt(dot(vector, vector)); w.sentence.IsNormalized && length > 0 {
			for i := range vector {
				vector[i] /= length
			}
		}
		made.Vectors = append(made.Vectors, numbers{vector, 32})
	}
	for _, a := range made.Vectors {
		cosines := numbers{bits: 64}
		for _, c := range made.Vectors {
			cosines.values = append(cosines.values, dot(a.values, c.values)/math.Sqrt(dot(a.values, a.values)*dot(c.values, c.values)))
		}
		made.Cosines = append(made.Cosines, cosines)
	}
	return made, nil
}

// poolTokens makes one vector of those of tokens.
func poolTokens(tokens []float64, width int, rule architecture.Pooling) []float64 {
	vector := slices.Clone(tokens[:width])
	if rule == architecture.PoolingCLS {
		return vector
	}
	for at := width; at < len(tokens); at += width {
		for i, v := range tokens[at : at+width] {
			if rule == architecture.PoolingMax {
				vector[i] = max(vector[i], v)
			} else {
				vector[i] += v
			}
		}
	}
	if rule == architecture.PoolingMean {
		for i := range vector {
			vector[i] /= float64(len(tokens) / width)
		}
	}
	return vector
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// printCompactJSON prints a value with many numbers as one object in one line.
func printCompactJSON(s streams, value any) error { return json.NewEncoder(s.out).Encode(value) }

// shownValues is the number of values of a row in the text.
const shownValues = 6

func printRun(out io.Writer, r *runReport) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "Model\t%s on %s\n", r.Name, r.Device)
	fmt.Fprintf(table, "Parameters\t%d, %v\n", r.Parameters, device.Size(r.ParameterBytes))
	fmt.Fprintf(table, "Arena\t%v for %s of %s\n", device.Size(r.ArenaBytes), device.Count(r.Rows, "row"), device.Count(r.Sequence, "token"))
	fmt.Fprintf(table, "Build\t%v\n", rounded(r.BuildNS))
	if r.Runs == 1 {
		fmt.Fprintf(table, "Run\t%v, the first of this shape\n", rounded(r.MedianNS))
	} else {
		fmt.Fprintf(table, "Run\t%v at least, %v the median of %d\n", rounded(r.ShortNS), rounded(r.MedianNS), r.Runs)
	}
	if s := r.Sleep; s != nil {
		fmt.Fprintf(table, "Sleep\t%v went back to the system in %v, %v stayed\n", device.Size(s.ReleasedBytes), rounded(s.SleepNS), device.Size(s.AsleepBytes))
		fmt.Fprintf(table, "Wake\t%v in %v; the outputs %s\n", device.Size(s.RestoredBytes), rounded(s.WakeNS), map[bool]string{true: "have the same bits", false: "differ"}[s.SameBits])
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, v := range r.Outputs {
		fmt.Fprintf(out, "\n%s  %s%s\n", plainName(v.Name), v.DType, strings.ReplaceAll(fmt.Sprint(v.Shape), " ", ", "))
		printRows(out, v.Values.values, int(r.Rows))
	}
	if r.Sentence == nil {
		return nil
	}
	normalized := ""
	if r.Sentence.IsNormalized {
		normalized = ", normalized"
	}
	fmt.Fprintf(out, "\nVectors: %s%s\n", r.Sentence.Pooling, normalized)
	for i, v := range r.Sentence.Vectors {
		fmt.Fprintf(out, "  row %d: %s\n", i, shown(v.values))
	}
	if len(r.Sentence.Cosines) < 2 {
		return nil
	}
	fmt.Fprintf(out, "\nCosines\n")
	right := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for i, row := range r.Sentence.Cosines {
		fmt.Fprintf(right, "  row %d\t", i)
		for _, c := range row.values {
			fmt.Fprintf(right, "%.7f\t", c)
		}
		fmt.Fprintln(right)
	}
	return right.Flush()
}

// printRows prints the first values of each row of an output.
func printRows(out io.Writer, values []float64, rows int) {
	if rows == 0 || len(values)%rows != 0 {
		fmt.Fprintf(out, "  %s\n", shown(values))
		return
	}
	for row := range rows {
		fmt.Fprintf(out, "  row %d: %s\n", row, shown(values[row*len(values)/rows:(row+1)*len(values)/rows]))
	}
}

// shown returns the first values as text.
func shown(values []float64) string {
	var text strings.Builder
	for i, v := range values {
		if i == shownValues {
			text.WriteString(" …")
			break
		}
		if i > 0 {
			text.WriteByte(' ')
		}
		fmt.Fprintf(&text, "%.6g", v)
	}
	return text.String()
}

func rounded(ns int64) time.Duration { return time.Duration(ns).Round(time.Microsecond) }
