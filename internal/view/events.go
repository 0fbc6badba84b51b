package view

// What an entry of a change log says with a number of a node that is no slot.
const (
	// Everything: readers begin again.
	Everything = -1
	// Storage: a storage object changed, which only pods with volumes read.
	Storage = -2
	// Unread: an object changed that no filter and no score reads.
	Unread = -3
)
