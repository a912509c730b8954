package library

// Member is an object with a handle, for the external tests.
type Member = member
