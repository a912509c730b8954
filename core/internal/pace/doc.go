// Package pace lets long work yield to other threads of the process. Such work goes in
// slices over millions of blocks or pages.
//
// Releasing a lock between two slices is not enough: a waiting thread first has to wake
// up, and by then the lock is taken again. Besides, when such work runs on every processor
// that Go may use, a call that comes from C has to wait for a processor. So the work
// pauses now and then.
//
// Lock order: the package has no locks. Rest is called with no lock held that other
// threads need.
package pace
