package testkit

import "runtime"

// Heap returns how many bytes of the heap are in use after two collections.
func Heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
