package dl

// Function is a C function that takes integers and pointers only and gives an int.
// The zero value is one that was not found.
type Function struct {
	// Name is the exact one, with the suffix of its version.
	Name    string
	address uintptr
}

// At is the function at an address that did not come from Load.
func At(name string, address uintptr) Function { return Function{Name: name, address: address} }

// Found says whether Call is possible.
func (f *Function) Found() bool { return f.address != 0 }

// Call calls the function, which must have been found.
func (f *Function) Call(arguments ...uintptr) int32 { return Call(f.address, arguments...) }

// Text calls a function f(code, const char **out) as CallText does; false also where
// the function was not found.
func (f *Function) Text(code uintptr) (string, bool) {
	if !f.Found() {
		return "", false
	}
	return CallText(f.address, code)
}

// Group is a number that the caller chose for functions that lack together. It is no text,
// which would be a relocation for each row.
type Group int

// Required is the group of what nothing works without.
const Required Group = 0

// Row is a line of a table of symbols.
type Row struct {
	// Name is the exact one, with the suffix of its version.
	Name string
	// To is filled in.
	To *Function
	// Group is what lacks when the function does, or Required.
	Group Group
	// Since is the version of the interface that has it first, in the vendor's numbers;
	// 0: not known.
	Since int32
}

// Load looks up every row. It fails with the names of all required functions that
// are not there; what is missing of the other groups is its result, by group.
func (l *Library) Load(table []Row) (map[Group][]string, error) {
	lacking := make(map[Group][]string)
	for _, row := range table {
		address, _ := l.Symbol(row.Name)
		*row.To = Function{Name: row.Name, address: address}
		if address == 0 {
			lacking[row.Group] = append(lacking[row.Group], row.Name)
		}
	}
	if needed := lacking[Required]; len(needed) > 0 {
		return nil, l.lacks(needed)
	}
	return lacking, nil
}
