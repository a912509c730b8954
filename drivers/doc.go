// Package drivers is the list of the backends of this product: the one place that names
// every driver and every surveyor. A new one is its folder and its line in list.
//
// It owns nothing, and whoever asks it loads no vendor's library by that: drivers load
// theirs when a device is opened or asked for.
//
// Lock order: the package has no locks.
package drivers
