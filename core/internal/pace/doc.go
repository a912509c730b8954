// Package pace has work that goes slice by slice, over millions of blocks or pages, let
// other threads of the process have their turn.
//
// To let go of a lock between two slices is not enough: who waits for it has to be woken
// first, and by then the lock is taken again. And where every processor that Go may use
// runs such work, a call that comes from C has to wait for one. So the work stands back
// now and then.
//
// Lock order: the package has no locks; Rest is called with none held that others want.
package pace
