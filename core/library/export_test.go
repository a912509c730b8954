package library

// Member is an object with a handle, for the tests from outside.
type Member = member
