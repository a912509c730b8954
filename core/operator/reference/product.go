package reference

// matrices is a stack of matrices: rows by columns behind leading dimensions.
type matrices struct {
	of            *Tensor
	lead          []uint64
	rows, columns uint64
	isTransposed  bool
}

// begin returns the position of the first element of the matrix that an index of leading dimensions
// names.
func (m matrices) begin(lead []uint64) int { return offset(m.lead, lead) * int(m.rows*m.columns) }

// steps returns the distances between elements of neighbouring rows and of neighbouring columns.
func (m matrices) steps() (row, column int) {
	if m.isTransposed {
		return 1, int(m.rows)
	}
	return int(m.columns), 1
}

// product multiplies matrices. The elements of the output follow each other.
func product(a, b matrices, lead []uint64, out *Tensor) {
	aRow, aColumn := a.steps()
	bRow, bColumn := b.steps()
	each(append(append([]uint64{}, lead...), a.rows, b.columns), func(at int, index []uint64) {
		row, column, stack := int(index[len(lead)]), int(index[len(lead)+1]), index[:len(lead)]
		i, j := a.begin(stack)+row*aRow, b.begin(stack)+column*bColumn
		for range a.columns {
			if out.isFloat() {
				out.Floats[at] += a.of.Floats[i] * b.of.Floats[j]
			} else {
				out.Ints[at] += a.of.Ints[i] * b.of.Ints[j]
			}
			i, j = i+aColumn, j+bRow
		}
	})
}

// matMul takes a vector on the left as a row and one on the right as a column.
func (r *run) matMul() {
	x, y := r.in[0], r.in[1]
	a := matrices{of: x, rows: 1, columns: x.Shape[len(x.Shape)-1]}
	if n := len(x.Shape); n > 1 {
		a.lead, a.rows = x.Shape[:n-2], x.Shape[n-2]
	}
	b := matrices{of: y, rows: y.Shape[0], columns: 1}
	if n := len(y.Shape); n > 1 {
		b.lead, b.rows, b.columns = y.Shape[:n-2], y.Shape[n-2], y.Shape[n-1]
	}
	lead := r.out[0].Shape
	if len(x.Shape) > 1 {
		lead = lead[:len(lead)-1]
	}
	if len(y.Shape) > 1 {
		lead = lead[:len(lead)-1]
	}
	product(a, b, lead, r.out[0])
}

// gemm computes alpha * A * B + beta * C.
func (r *run) gemm() {
	out := r.out[0]
	side := func(in *Tensor, attribute string) matrices {
		m := matrices{of: in, rows: in.Shape[0], columns: in.Shape[1], isTransposed: r.op.Int(attribute) == 1}
		if m.isTransposed {
			m.rows, m.columns = m.columns, m.rows
		}
		return m
	}
	product(side(r.in[0], "transA"), side(r.in[1], "transB"), nil, out)
	scale(out, r.op.Float("alpha"))
	if r.in[2] == nil {
		return
	}
	third := New(out.Type, out.Shape)
	each(out.Shape, func(at int, index []uint64) {
		third.copyFrom(at, r.in[2], offset(r.in[2].Shape, index))
	})
	scale(third, r.op.Float("beta"))
	add(out, third)
}

// scale multiplies all elements. Products of integers drop the fraction.
func scale(t *Tensor, factor float64) {
	for at := range t.Floats {
		t.Floats[at] *= factor
	}
	for at := range t.Ints {
		if whole := int64(factor); float64(whole) == factor {
			t.Ints[at] *= whole
		} else {
			t.Ints[at] = truncated(t.Type, t.number(at)*factor)
		}
	}
}

// add adds elements of the same shape.
func add(to, from *Tensor) {
	for at := range to.Floats {
		to.Floats[at] += from.Floats[at]
	}
	for at := range to.Ints {
		to.Ints[at] += from.Ints[at]
	}
}

// linear computes activation(X * transpose(W) + bias) + residual.
func (r *run) linear() {
	x, w, out := r.in[0], r.in[1], r.out[0]
	last := len(x.Shape) - 1
	b := matrices{of: w, rows: w.Shape[1], columns: w.Shape[0], isTransposed: true}
	product(matrices{of: x, rows: count(x.Shape[:last]), columns: x.Shape[last]}, b, nil, out)
	if bias := r.in[2]; bias != nil {
		for at := range out.Floats {
			out.Floats[at] += bias.Floats[at%len(bias.Floats)]
		}
	}
	for at, value := range out.Floats {
		out.Floats[at] = activated(r.op.Text("activation"), value)
	}
	if r.in[3] != nil {
		add(out, r.in[3])
	}
}
