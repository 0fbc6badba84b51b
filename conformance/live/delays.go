package live

import (
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"
)

// delays let the words of an API server come late: answers, and what watches report, some kinds of objects later than others. So a
// scheduler sees objects in another order than they were made in, as on a busy machine.
type delays struct {
	most time.Duration

	mu   sync.Mutex
	seed uint64 // says which kinds are late
}

// linger lets some time pass, half of the times.
func (x *delays) linger() {
	if x != nil && rand.IntN(2) == 0 {
		<-time.After(rand.N(x.most))
	}
}

// lag lets the time of a kind pass before its watch reports: none, some, or the most.
func (x *delays) lag(path string) {
	if x == nil {
		return
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(path)) // never fails
	x.mu.Lock()
	kind := rand.New(rand.NewPCG(x.seed, h.Sum64())).IntN(3)
	x.mu.Unlock()
	switch kind {
	case 1:
		x.linger()
	case 2:
		<-time.After(x.most)
	}
}

// deal chooses other kinds.
func (x *delays) deal() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.seed = rand.Uint64()
}
