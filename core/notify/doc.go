// Package notify delivers calls to callbacks in order, on one worker, and not on the
// thread that posts them.
//
// It owns a bounded queue and the goroutine that empties it. The goroutine starts with the
// first Post, sleeps without a timer while the queue is empty, and ends with Stop or
// Close. The package never runs a delivery on the thread of Post, never runs two at once
// and never blocks a Post: when the queue is full, the call is dropped and counted.
//
// Lock order: Dispatcher.mu is a leaf. It is never held while a delivery runs.
package notify
