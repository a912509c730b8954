package operations

import (
	"ferrum_mem/engines/cpu"
)

// product is a stack of matrix products y = activation(alpha a b + beta add) + residual.
type product struct {
	a, b, y, add, residual matrix
	m, n, k                int64
	alpha, beta            float64
	activation             cpu.Operation
	batch                  []int64
}

// activation returns the operation that the attribute "activation" names.
func (l *lowering) activation() cpu.Operation {
	switch l.op.Text("activation") {
	case "relu":
		return cpu.Relu
	case "gelu":
		return cpu.Gelu
	case "gelu_tanh":
		return cpu.GeluTanh
	case "silu":
		return cpu.Swish
	}
	return cpu.Copy
}

// matrix is an operand with the strides of a stack of matrices. Those of a packed matrix are bytes.
type matrix struct {
	operand
	row, column int64
	batch       []int64
}

// matrixOf returns the last two dimensions of an operand as a matrix, with strides of the leading
// dimensions of the result.
func matrixOf(o operand, batch []int64) matrix {
	n := len(o.shape) - 2
	lead := o.view(o.shape[:n], o.strides[:n]).expand(batch)
	return matrix{operand: o, row: o.strides[n], column: o.strides[n+1], batch: lead.strides}
}

func (m matrix) transposed() matrix {
	m.row, m.column = m.column, m.row
	return m
}

// withAxis returns the view with one more dimension of one index.
func (o operand) withAxis(axis int) operand {
	shape, strides := append([]int64{}, o.shape[:axis]...), append([]int64{}, o.strides[:axis]...)
	return o.view(append(append(shape, 1), o.shape[axis:]...), append(append(strides, 0), o.strides[axis:]...))
}

// matMul takes a vector on the left as a row, and one on the right as a column.
func (l *lowering) matMul() error {
	a, b, y := l.in(0), l.in(1), l.out(0)
	if len(b.shape) == 1 {
		b, y = b.withAxis(1), y.withAxis(len(y.shape))
	}
	if len(a.shape) == 1 {
		a, y = a.withAxis(0), y.withAxis(len(y.shape)-1)
	}
	n := len(y.shape) - 2
	p := &product{
		m: y.shape[n], n: y.shape[n+1], k: a.shape[len(a.shape)-1], alpha: 1, batch: y.shape[:n],
		a: matrixOf(a, y.shape[:n]), b: l.right(b, y.shape[:n]), y: matrixOf(y, y.shape[:n]),
	}
	return l.multiply(p)
}

func (l *lowering) gemm() error {
	a, b, y := l.in(0), l.in(1), l.out(0)
	p := &product{
		m: y.shape[0], n: y.shape[1], k: a.shape[1], alpha: l.op.Float("alpha"), beta: l.op.Float("beta"),
		a: matrixOf(a, nil), b: l.right(b, nil), y: matrixOf(y, nil),
	}
	if l.op.Int("transA") == 1 {
		p.a, p.k = p.a.transposed(), a.shape[0]
	}
	if l.op.Int("transB") == 1 {
		p.b = p.b.transposed()
	}
	if c := l.in(2); c.isPresent() {
		p.add = matrixOf(c.expand(y.shape), nil)
	}
	return l.multiply(p)
}

// linear is activation(X * transpose(W) + bias) + residual.
func (l *lowering) linear() error {
	x, w, y, residual := l.in(0), l.in(1), l.out(0), l.in(3)
	if len(x.shape) == 1 {
		x, y = x.withAxis(0), y.withAxis(0)
		if residual.isPresent() {
			residual = residual.withAxis(0)
		}
	}
	n := len(y.shape) - 2
	batch := y.shape[:n]
	p := &product{
		m: y.shape[n], n: y.shape[n+1], k: x.shape[n+1], alpha: 1, beta: 1, batch: batch,
		a: matrixOf(x, batch), b: l.right(w, batch).transposed(), y: matrixOf(y, batch),
		activation: l.activation(),
	}
	if bias := l.in(2); bias.isPresent() {
		p.add = matrixOf(bias.expand(y.shape), batch)
	}
	if residual.isPresent() {
		p.residual = matrixOf(residual, batch)
	}
	if err := l.packBlocks(p); err != nil {
		return err
	}
	return l.multiply(p)
}

// mergeBatch makes rows of the dimensions of the batch that share one right matrix, from the last
// one on. So a product of [batch, rows, k] and [k, n] is one product.
func (p *product) mergeBatch() {
	for last := len(p.batch) - 1; last >= 0; last-- {
		n := p.batch[last]
		merges := func(m *matrix) bool {
			return !m.isPresent() || p.m == 1 || m.batch[last] == p.m*m.row
		}
		if n != 1 && (p.b.batch[last] != 0 || !merges(&p.a) || !merges(&p.y) || !merges(&p.add) || !merges(&p.residual)) {
			return
		}
		for _, m := range []*matrix{&p.a, &p.b, &p.y, &p.add, &p.residual} {
			if !m.isPresent() {
				continue
			}
			if n != 1 && p.m == 1 && m != &p.b {
				m.row = m.batch[last]
			}
			m.batch = m.batch[:last]
		}
		p.m *= n
		p.batch = p.batch[:last]
	}
}

// turn exchanges the sides where the transposed product is better: if the result lies transposed,
// or is one column.
func (p *product) turn() {
	isBetter := p.n > 1 && p.y.column != 1 && p.y.row == 1 || p.n == 1 && p.m > 1 && p.y.row == 1
	if p.b.packing != "" || !isBetter || p.b.elementBytes() == 0 || isBlock(p.b.kind) {
		return
	}
	p.a, p.b = p.b.transposed(), p.a.transposed()
	p.y, p.add, p.residual = p.y.transposed(), p.add.transposed(), p.residual.transposed()
	p.m, p.n = p.n, p.m
}

// multiply adds the request of a product. If the columns of the result are not adjacent, the product is
// computed in the workspace.
func (l *lowering) multiply(p *product) error {
	p.mergeBatch()
	p.turn()
	y, then := p.y, func() {}
	if y.column != 1 && p.n > 1 {
		shape := append(append([]int64{}, p.batch...), p.m, p.n)
		to := y.view(shape, append(append([]int64{}, y.batch...), y.row, y.column))
		made, err := l.temporary(y.kind, shape)
		if err != nil {
			return err
		}
		y, then = matrixOf(made, p.batch), func() { l.copy(made, to) }
	}
	r := &cpu.MatMul{
		M: p.m, N: p.n, K: p.k, A: p.a.place(), AType: p.a.cpuType(), ARow: p.a.row, AColumn: p.a.column,
		B: p.b.place(), BType: p.b.cpuType(), BRow: p.b.row, BColumn: p.b.column,
		Y: y.place(), YType: y.cpuType(), YRow: y.row, Alpha: p.alpha, Beta: p.beta, Activation: p.activation,
		BatchRank: int64(len(p.batch)), Batch: fill(p.batch), ABatch: fill(p.a.batch), BBatch: fill(p.b.batch), YBatch: fill(y.batch),
	}
	if p.b.packing != "" {
		r.IsPacked = 1
	}
	if p.add.isPresent() {
		r.Add, r.AddType, r.AddRow, r.AddColumn = p.add.place(), p.add.cpuType(), p.add.row, p.add.column
		r.AddBatch = fill(p.add.batch)
		l.mayShare(0, 2)
	}
	if p.residual.isPresent() {
		r.Residual, r.ResidualType, r.ResidualRow, r.ResidualColumn = p.residual.place(), p.residual.cpuType(), p.residual.row, p.residual.column
		r.ResidualBatch = fill(p.residual.batch)
		// Sums of a part of the depth are in the output before the activation.
		if p.activation == cpu.Copy {
			l.mayShare(0, 3)
		}
	}
	l.add(r)
	then()
	return nil
}
