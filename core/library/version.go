package library

// Version of the package, the same as the header's.
const Version = "0.1.0"
