package house

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// lockTypes are the lock types of Go and of this module.
var lockTypes = []string{"sync.Mutex", "sync.RWMutex", "sync.Locker", module + "core/mirror.Lock"}

// lockMethods are the methods by which a type is a lock.
var lockMethods = []string{"Lock", "Unlock", "RLock", "RUnlock", "TryLock", "TryRLock", "RLocker"}

// isLock states whether a type is a lock or a pointer to a lock.
func isLock(of types.Type) bool {
	of = types.Unalias(of)
	if pointer, ok := of.(*types.Pointer); ok {
		of = types.Unalias(pointer.Elem())
	}
	named, ok := of.(*types.Named)
	return ok && named.Obj().Pkg() != nil && slices.Contains(lockTypes, named.Obj().Pkg().Path()+"."+named.Obj().Name())
}

// mutexesOutside returns the places where a package exports a lock, or uses a lock of
// another package.
func mutexesOutside(p *typedPackage) []string {
	var found []string
	say := func(at token.Pos, what string, names ...any) {
		found = append(found, fmt.Sprintf("%s: ", p.files.Position(at))+fmt.Sprintf(what, names...))
	}
	for _, name := range p.types.Scope().Names() {
		switch object := p.types.Scope().Lookup(name).(type) {
		case *types.Var:
			if object.Exported() && isLock(object.Type()) {
				say(object.Pos(), "the lock %s is exported", name)
			}
		case *types.Func:
			if object.Exported() && passesLock(object.Signature()) {
				say(object.Pos(), "%s passes a lock", name)
			}
		case *types.TypeName:
			if named, ok := object.Type().(*types.Named); ok && !object.IsAlias() && !isLock(named) {
				locksOf(named, say)
			}
		}
	}
	for name, used := range p.info.Uses {
		variable, ok := used.(*types.Var)
		// The lock L of a sync.Cond belongs to the package that created the Cond, not to
		// sync.
		if ok && variable.Pkg() != p.types && variable.Pkg().Path() != "sync" && isLock(variable.Type()) {
			say(name.Pos(), "the lock %s of %s is used", name.Name, variable.Pkg().Path())
		}
	}
	slices.Sort(found)
	return found
}

// locksOf finds the locks that a type exports: as a field, in the signature of a method, or
// because the type itself has lock methods.
func locksOf(named *types.Named, say func(at token.Pos, what string, names ...any)) {
	name := named.Obj().Name()
	if fields, ok := named.Underlying().(*types.Struct); ok {
		for field := range fields.Fields() {
			if field.Exported() && isLock(field.Type()) {
				say(field.Pos(), "the lock %s.%s is exported", name, field.Name())
			}
		}
	}
	for method := range named.Methods() {
		if method.Exported() && (slices.Contains(lockMethods, method.Name()) || passesLock(method.Signature())) {
			say(method.Pos(), "%s.%s shows a lock to others", name, method.Name())
		}
	}
}

// passesLock states whether a function has a lock as a parameter or a result.
func passesLock(signature *types.Signature) bool {
	for _, values := range []*types.Tuple{signature.Params(), signature.Results()} {
		for value := range values.Variables() {
			if isLock(value.Type()) {
				return true
			}
		}
	}
	return false
}

// To change guarded data, a developer must know every place that can hold the lock.
// Therefore only the package of a lock uses it.
func TestOnlyItsPackageUsesAMutex(t *testing.T) {
	for _, p := range typedPackagesOf(t) {
		for _, place := range mutexesOutside(p) {
			assert.Fail(t, "a mutex outside of its package", place)
		}
	}
}

func TestMutexesOutsideOfTheirPackageAreFound(t *testing.T) {
	made := imaginaryPackages(t, `package open
		import "sync"
		var Guard sync.Mutex
		type Box struct { Mu sync.RWMutex; mu sync.Mutex }
		type Embedding struct { sync.Mutex }
		func (b *Box) Lock() { b.mu.Lock() }
		func (b *Box) Locker() sync.Locker { return &b.mu }
		func Wait(mu *sync.Mutex) { mu.Lock() }`,
		`package user
		import "open"
		func use(b *open.Box) { b.Mu.Lock(); (&open.Guard).Unlock(); b.Lock() }`,
		`package closed
		import "sync"
		type Box struct { mu sync.Mutex; count int }
		func (b *Box) Add() { b.mu.Lock(); defer b.mu.Unlock(); b.count++ }
		func add(mu *sync.Mutex) { mu.Lock() }`)
	assert.Len(t, mutexesOutside(made[0]), 6)
	assert.Len(t, mutexesOutside(made[1]), 2)
	assert.Empty(t, mutexesOutside(made[2]))
}
