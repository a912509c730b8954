// Package notify delivers calls to callbacks in order, on one worker, off the
// thread that has the news.
//
// It owns a bounded queue and the goroutine that empties it, which starts with
// the first Post, sleeps without a timer when there is nothing to do, and ends
// with Stop or Close. It never runs a delivery on the thread of Post, never
// runs two at once and never blocks a Post: when the queue is full the news is
// dropped and counted.
//
// Lock order: Dispatcher.mu is a leaf. It is never held while a delivery runs.
package notify
