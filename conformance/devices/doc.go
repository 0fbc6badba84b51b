// Package devices compares package devices with the allocator and the plugin of Kubernetes: generated inventories,
// allocations and claims go to both, and what they answer must be equal to the letter.
package devices
