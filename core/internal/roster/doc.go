// Package roster keeps who is there, in the order in which they came.
//
// It owns lists of which many members come and go: a List is visited in that order,
// and a Ranked in an order of its members' own. To come and to go costs the same
// however many there are; only who visits all pays for all.
//
// Lock order: the package has no locks; whoever owns a list guards it.
package roster
