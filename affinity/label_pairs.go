package affinity

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/internal/view"
)

// A guard is a cheap test before a selector is evaluated: a set of label pairs, kept as 64 bits of their hashes. A pod must
// have one of these pairs for the selector to match it. A pod whose own pairs share no bit with the guard does not match; a
// pod that shares a bit may match. Of thousands of distinct term sets hardly one matches a given pod, and most are excluded
// by their guard.

// guard returns the label pairs of the requirement that allows the fewest values: all bits when no requirement names
// values, no bit for a selector that matches nothing.
func guard(selector labels.Selector) uint64 {
	key, values, ok := view.Narrowest(selector)
	switch {
	case !ok:
		return 0
	case key == "":
		return ^uint64(0)
	}
	var pairs uint64
	for _, value := range values {
		pairs |= pairBit(key, value)
	}
	return pairs
}

func pairsOf(labels map[string]string) uint64 {
	var pairs uint64
	for key, value := range labels {
		pairs |= pairBit(key, value)
	}
	return pairs
}

// pairBit returns a bit that the FNV-1a hash of key=value chooses.
func pairBit(key, value string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * prime
	}
	h = (h ^ '=') * prime
	for i := range len(value) {
		h = (h ^ uint64(value[i])) * prime
	}
	return 1 << (h >> 58)
}
