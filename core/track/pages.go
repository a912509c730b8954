package track

// AddPages enters physical pages had from the driver that nobody uses yet.
func (b *Books) AddPages(bytes uint64) {
	b.rise(reserved, bytes)
	b.rise(cached, bytes)
	b.publish()
}

// RemovePages takes out pages that are cached.
func (b *Books) RemovePages(bytes uint64) {
	b.now[cached] -= bytes
	b.now[reserved] -= bytes
	b.publish()
}
