package house

import (
	"go/types"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// maxMethods is the maximum number of functions that belong to one type: its methods, the
// methods of embedded types of the module, and the functions of its package whose first
// parameter is the type. In a larger type it is hard to see which function changes which
// state.
const maxMethods = 90

// subjectOf returns the type of the first parameter, or the type that it points to. It
// returns nil for a type of another package.
func subjectOf(of *types.Package, signature *types.Signature) *types.TypeName {
	if signature.Params().Len() == 0 {
		return nil
	}
	first := types.Unalias(signature.Params().At(0).Type())
	if pointer, ok := first.(*types.Pointer); ok {
		first = types.Unalias(pointer.Elem())
	}
	if named, ok := first.(*types.Named); ok && named.Obj().Pkg() == of {
		return named.Obj()
	}
	return nil
}

// methodsOf counts the methods of a type, with those of embedded structs of the module. Two
// methods with the same name count once, because a program can call only the outer one.
func methodsOf(named types.Type, own map[*types.Package]bool) int {
	count := 0
	set := types.NewMethodSet(types.NewPointer(named))
	for method := range set.Methods() {
		function := method.Obj().(*types.Func)
		if own[function.Pkg()] && !types.IsInterface(function.Signature().Recv().Type()) {
			count++
		}
	}
	return count
}

// countMethods returns the count for each type. The key is the package and the type.
func countMethods(packages []*typedPackage) map[string]int {
	own := map[*types.Package]bool{}
	for _, p := range packages {
		own[p.types] = true
	}
	counted := map[string]int{}
	for _, p := range packages {
		taking := map[*types.TypeName]int{}
		scope := p.types.Scope()
		for _, name := range scope.Names() {
			if function, ok := scope.Lookup(name).(*types.Func); ok {
				if subject := subjectOf(p.types, function.Signature()); subject != nil {
					taking[subject]++
				}
			}
		}
		for _, name := range scope.Names() {
			declared, ok := scope.Lookup(name).(*types.TypeName)
			if !ok || declared.IsAlias() || types.IsInterface(declared.Type()) {
				continue
			}
			counted[p.room()+"."+name] = methodsOf(declared.Type(), own) + taking[declared]
		}
	}
	return counted
}

func TestNoTypeHasTooManyMethods(t *testing.T) {
	counted := countMethods(typedPackagesOf(t))
	require.Greater(t, len(counted), 500)
	for name, count := range counted {
		assert.LessOrEqual(t, count, maxMethods, "methods of %s", name)
	}
}

func TestMethodsAreCountedWithWhatIsEmbeddedAndWhatTakesTheType(t *testing.T) {
	made := imaginaryPackages(t, `package lower
		type Inner struct{}
		func (Inner) A() {}
		func (*Inner) b() {}
		func Of(i *Inner, other int) {}
		func Plain(n int, i *Inner) {}`,
		`package upper
		import ("lower"; "strings")
		type reader interface { Read() }
		type Outer struct { *lower.Inner; strings.Builder; reader }
		func (Outer) A() {}
		func (o *Outer) c() {}
		func takes(o Outer) {}
		func takesMany(o []Outer) {}
		func takesInner(i *lower.Inner) {}
		type Empty struct { named lower.Inner }`)
	assert.Equal(t, map[string]int{
		"lower.Inner": 3, // A, b, Of
		"upper.Outer": 4, // A, b of Inner, c, takes
		"upper.Empty": 0,
	}, countMethods(made))
}
