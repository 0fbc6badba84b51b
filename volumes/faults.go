package volumes

import (
	"slices"
	"sync"

	"github.com/podberth/podberth/resources"
)

// faults numbers the texts that explain why NodeVolumeLimits fails for a running pod. Trials of several goroutines may add
// texts.
type faults struct {
	mu    sync.Mutex
	texts []string
}

// maxFaults is the largest number of texts. Later texts share the last number.
const maxFaults = 1 << 12

func (f *faults) number(text string) resources.Verdict {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at := slices.Index(f.texts, text); at >= 0 {
		return resources.Verdict(at)
	}
	if len(f.texts) < maxFaults {
		f.texts = append(f.texts, text)
	}
	return resources.Verdict(len(f.texts) - 1)
}

func (f *faults) text(number resources.Verdict) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.texts[number]
}
