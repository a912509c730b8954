package dl

// Function is a C function that takes only integers and pointers and returns an int. The
// zero value is a function that was not found.
type Function struct {
	// Functions are not compared. Without this field the compiler writes a comparison of all
	// functions of a driver, which is 8 kB.
	_ [0]func()
	// Name is the exact name, with the suffix of its version.
	Name    string
	address uintptr
}

// At returns the function at an address that did not come from Load.
func At(name string, address uintptr) Function { return Function{Name: name, address: address} }

// Found states whether Call is possible.
func (f *Function) Found() bool { return f.address != 0 }

// Call calls the function, which must have been found.
func (f *Function) Call(arguments ...uintptr) int32 { return Call(f.address, arguments...) }

// Text calls a function f(code, const char **out) as CallText does. It returns false also
// if the function was not found.
func (f *Function) Text(code uintptr) (string, bool) {
	if !f.Found() {
		return "", false
	}
	return CallText(f.address, code)
}

// Group is a number for functions that are missing together. The caller chooses it. It is a
// number because a text would need one relocation for each row.
type Group int

// Required is the group of the functions without which nothing works.
const Required Group = 0

// Row is a line of a table of symbols.
type Row struct {
	// Name is the exact name, with the suffix of its version.
	Name string
	// To receives the function.
	To *Function
	// Group is the group of functions that is unavailable without this function, or
	// Required.
	Group Group
	// Since is the first version of the interface that has the function, in the vendor's
	// numbers. 0: not known.
	Since int32
}

// Load looks up every row. Its error names all required functions that are missing. Its
// result is the missing functions of the other groups, by group.
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
