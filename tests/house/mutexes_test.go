package house

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// lockTypes are the locks: of Go, and those that the module makes itself.
var lockTypes = []string{"sync.Mutex", "sync.RWMutex", "sync.Locker", module + "core/mirror.Lock"}

// lockMethods are the methods that make a type a lock.
var lockMethods = []string{"Lock", "Unlock", "RLock", "RUnlock", "TryLock", "TryRLock", "RLocker"}

// isLock says whether a type is a lock or points to one.
func isLock(of types.Type) bool {
	of = types.Unalias(of)
	if pointer, ok := of.(*types.Pointer); ok {
		of = types.Unalias(pointer.Elem())
	}
	named, ok := of.(*types.Named)
	return ok && named.Obj().Pkg() != nil && slices.Contains(lockTypes, named.Obj().Pkg().Path()+"."+named.Obj().Name())
}

// mutexesOutside are the places where a package shows a lock to others or uses one of theirs.
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
		// The lock of a sync.Cond is one of the package that made the Cond.
		if ok && variable.Pkg() != p.types && variable.Pkg().Path() != "sync" && isLock(variable.Type()) {
			say(name.Pos(), "the lock %s of %s is used", name.Name, variable.Pkg().Path())
		}
	}
	slices.Sort(found)
	return found
}

// locksOf finds the locks that a type shows: as a field, through a method's signature, or by
// being one itself.
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

// passesLock says whether a function takes or returns a lock.
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

// Who may hold a lock is what one has to know to change anything that it guards: the
// package that has it, and nobody else.
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
