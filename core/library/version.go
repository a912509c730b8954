package library

// Version is the version of the package, the same as that of the header.
const Version = "0.1.0"
