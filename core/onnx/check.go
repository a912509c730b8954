package onnx

import (
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/operator"
)

// checker checks a model that is read.
type checker struct {
	*File
	path string
	// taken has the names of the values that exist, isLarge those of the nodes of type Constant that are
	// initialisers for Graph.
	taken, isLarge map[string]bool
}

func (c *checker) wrong(format string, args ...any) error {
	return device.Errorf(device.CodeInvalidFormat, opOpen, "%s: %s", c.path, fmt.Sprintf(format, args...))
}

// check checks opsets and names. Each value has one name, which no other value of the graph has, and exists
// before a node reads it.
func (c *checker) check() error {
	if opset := c.Opset(operator.ONNX); opset < OldestOpset || opset > NewestOpset {
		if opset != 0 || len(c.Opsets) == 0 {
			return device.Errorf(device.CodeUnsupported, opOpen, "%s: imports opset %d of ONNX: opsets %d to %d are supported", c.path, opset, OldestOpset, NewestOpset)
		}
	}
	c.taken, c.isLarge = make(map[string]bool, len(c.tensors)+len(c.Inputs)+len(c.Nodes)), map[string]bool{}
	for _, s := range c.tensors {
		c.taken[s.name] = true
		if s.part == (part{}) {
			c.isLarge[s.name] = true
		}
	}
	isGiven := make(map[string]bool, len(c.Inputs))
	var inputs []Value
	for _, in := range c.Inputs {
		switch {
		case in.Name == "" || isGiven[in.Name]:
			return c.wrong("the input %.120q of the graph is listed twice, or has no name", in.Name)
		case !c.taken[in.Name]:
			// Files of IR version 3 list the initialisers among the inputs too.
			inputs = append(inputs, in)
		}
		isGiven[in.Name] = true
	}
	for name := range isGiven {
		c.taken[name] = true
	}
	c.Inputs = inputs
	for i := range c.Nodes {
		if err := c.node(&c.Nodes[i]); err != nil {
			return err
		}
	}
	if len(c.Outputs) == 0 {
		return c.wrong("the graph has no output")
	}
	isListed := make(map[string]bool, len(c.Outputs))
	for _, out := range c.Outputs {
		if !c.taken[out.Name] || isListed[out.Name] {
			return c.wrong("the output %.120q of the graph does not exist, or is listed twice", out.Name)
		}
		isListed[out.Name] = true
	}
	return nil
}

// node checks a node, and adds its outputs to the names that are taken.
func (c *checker) node(n *Node) error {
	switch {
	case n.Type == "":
		return c.wrong("%s has no operator", n.describe())
	case c.Opset(n.Domain) == 0:
		return c.wrong("%s: the model imports no operators of the domain %.120q", n.describe(), n.Domain)
	case max(len(n.Inputs), len(n.Outputs), len(n.Attributes)) > maxEnds:
		return c.wrong("%s has %d inputs, %d outputs and %d attributes: at most %d of each are possible", n.describe(), len(n.Inputs), len(n.Outputs), len(n.Attributes), maxEnds)
	}
	for _, name := range n.Inputs {
		if name != "" && !c.taken[name] {
			return c.wrong("%s reads %.120q, which no input, initialiser or node before it has", n.describe(), name)
		}
	}
	for i := range n.Attributes {
		a := &n.Attributes[i]
		if n.attribute(a.Name) != a || a.Name == "" {
			return c.wrong("%s has the attribute %.120q twice, or one without a name", n.describe(), a.Name)
		}
	}
	for _, name := range n.Outputs {
		isInitializer := n.isConstant() && c.isLarge[name]
		if c.taken[name] && !isInitializer {
			return c.wrong("%s computes %.120q, which is the name of another value", n.describe(), name)
		}
		if name != "" {
			c.taken[name], c.isLarge[name] = true, false
		}
	}
	return nil
}

// maxEnds is the most inputs, outputs or attributes of a node.
const maxEnds = 4096
