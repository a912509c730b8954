// Package drivers is the list of the backends of this product: the only place that names
// every driver and every surveyor. A new backend is its folder and its line in the list.
//
// It owns nothing. Using the package loads no vendor library: a driver loads its library
// when a device is opened or queried.
//
// Lock order: the package has no locks.
package drivers
