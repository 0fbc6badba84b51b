package volume

import (
	"slices"
	"sync"
)

// faults numbers the texts of why a running pod's disk cannot be known to its driver. Trials of several goroutines may meet
// new ones.
type faults struct {
	mu    sync.Mutex
	texts []string
}

// maxFaults bounds the numbers; later texts share the last one.
const maxFaults = 1 << 12

func (f *faults) number(text string) uint16 {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := slices.Index(f.texts, text)
	if at < 0 && len(f.texts) < maxFaults {
		at = len(f.texts)
		f.texts = append(f.texts, text)
	} else if at < 0 {
		at = maxFaults - 1
	}
	return uint16(at)
}

func (f *faults) text(number uint16) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.texts[number]
}
