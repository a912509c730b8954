// Package mirrors is the books of devices where C can read them: the places that the core
// shows them in (core/mirror), and the call that reads them without entering Go.
//
// It owns these places, one for each device by the slot of its handle, and says whether
// they may be read. It writes none of them and asks nobody for the books: a call that
// finds them hidden or too old says so. mirror.h is what others call, mirror.c how it is
// read.
//
// It takes no lock and nobody waits for it. What the thread caches of a pool hold it asks
// them, who take their mutex for that.
package mirrors
