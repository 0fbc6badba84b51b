package reuse

import (
	"hash/maphash"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/placement/internal/hooks"
)

// Limits of what is kept. Beyond a limit the engine forgets everything, which takes time and changes no answer.
const (
	maxPast    = 1 << 16
	maxKinds   = 1 << 11
	maxChanges = 1 << 16
	maxKept    = 1 << 23 // slots in layouts and rows that outlast a change of nodes
	maxSpare   = 1 << 5
)

// keys are the AppendKey functions of some plugins. Every key is framed: a plugin may append any bytes.
type keys []hooks.Part

// add adds a key, unless there is one with its name. An empty name is equal to no other.
func (k *keys) add(p hooks.Part) {
	if p.Name == "" || !slices.ContainsFunc(*k, func(x hooks.Part) bool { return x.Name == p.Name }) {
		*k = append(*k, p)
	}
}

func (k keys) append(dst []byte, pod *v1.Pod) []byte {
	for i := range k {
		at := len(dst)
		dst = key.Close(k[i].Append(key.Open(dst), pod), at)
	}
	return dst
}

// serves reports whether the engine serves a pod, over the nodes in this scan order. It brings the engine up to date and writes the key of the pod
// into the engine's buffers.
func (e *Engine) serves(pod *v1.Pod, order []int32) bool {
	for _, skips := range e.skips {
		if !skips(pod) {
			return false
		}
	}
	e.scanBy(order)
	e.watch()
	e.buffers.key = e.pods.append(e.buffers.key[:0], pod)
	for _, k := range e.keyers {
		x := e.counting[k].(hooks.PodKeyer)
		at := len(e.buffers.key)
		own, ok := x.AppendPodKey(key.Open(e.buffers.key), pod)
		if e.buffers.key = own; !ok {
			return false
		}
		e.buffers.key = key.Close(e.buffers.key, at)
		if now := x.Epoch(); now != e.epochs[k] {
			e.epochs[k] = now
			e.drop(k)
		}
	}
	return true
}

// kindOf returns the kind of a pod whose key is in the engine's buffers, up to date; nil when the pod has none. The pods that share a kind
// without heaps may ask for different requests. A question about few nodes (0: it is about all) has a kind without heaps, until as many nodes were looked
// at for such questions as heaps are made of.
func (e *Engine) kindOf(pod *v1.Pod, few int) *podKind {
	m, ok := e.kinds[string(e.buffers.key)]
	if !ok {
		m = e.newKind(pod, string(e.buffers.key), few)
	}
	s := m.podKind
	if s == nil {
		return nil
	}
	s.podKey = m.key
	if !s.follow(pod) {
		return nil
	}
	if s.parted {
		s.parted = false
		e.buffers.key = append(e.buffers.key[:0], m.key...)
		return e.kindOf(pod, few)
	}
	return s
}

// newKind returns a kind for a pod that has none yet. A pod that comes again keeps a kind with heaps.
func (e *Engine) newKind(pod *v1.Pod, key string, few int) member {
	looked, again := e.pastPods.remember(e.buffers.key, few)
	bare := few > 0 && looked < e.log.Len()
	if again && !bare && len(e.kinds) >= maxKinds {
		e.forget()
	}
	c := e.compile(pod)
	if c == nil {
		return member{}
	}
	m := member{e.sharedKind(pod, key, c, bare, again), key}
	if again && !bare {
		m.join(key, c)
		e.kinds[key] = m
	}
	return m
}

// sharedKind returns the kind of all pods with the same effect on the states and the same statics. A pod that comes again and, from the second pod with
// the same requests on, those pods have a kind with heaps, but for a bare one.
func (e *Engine) sharedKind(pod *v1.Pod, key string, c []counted, bare, again bool) *podKind {
	heaps := e.sharedKey(pod, c, bare, again)
	s, ok := e.sharedKinds[string(e.buffers.key)]
	if !ok && !heaps && e.idleKey(pod, c) {
		s, ok = e.sharedKinds[string(e.buffers.key)]
	}
	if !ok {
		if len(e.sharedKinds) >= maxKinds {
			clear(e.sharedKinds) // members keep what they use
			clear(e.statics)
			maps.DeleteFunc(e.layouts, func(_ string, l *layout) bool { return l.own })
		}
		shared := string(e.buffers.key)
		s = &podKind{engine: e, pod: pod, madeFor: key, sharing: sharing{sharedKey: shared}, heaps: heaps}
		s.build(c)
		s.learnTerms()
		e.sharedKinds[shared] = s
	}
	return s
}

// The first byte of the key of a shared kind. The keys of rows follow if it has heaps.
const (
	withoutHeaps = iota
	withHeaps
	withIdleStates // and without heaps
)

// sharedKey writes the key of a shared kind into the engine's buffers. It reports whether the kind has heaps: a bare one has none.
func (e *Engine) sharedKey(pod *v1.Pod, c []counted, bare, again bool) (heaps bool) {
	b := append(e.buffers.key[:0], withoutHeaps)
	if !bare {
		b = e.rowKeys.append(b, pod)
		if _, heaps = e.pastRows.remember(b[1:], 0); heaps || again {
			b[0], heaps = withHeaps, true
		} else {
			b = b[:1]
		}
	}
	b = e.staticKeys.append(b, pod)
	e.buffers.key = appendStateKeys(b, c)
	return heaps
}

// idleKey replaces the key of a kind without heaps by that of pods for which no running pod counts, whatever these pods would count. It reports false, and
// replaces nothing, when there is no such state.
func (e *Engine) idleKey(pod *v1.Pod, c []counted) bool {
	b := &e.buffers
	own, some := appendIdleKeys(e.staticKeys.append(append(b.idle[:0], withIdleStates), pod), b.key, c)
	if b.idle = own; some {
		b.key, b.idle = b.idle, b.key
	}
	return some
}

// past is a memory of keys, by hash, with a number for each. Keys with one hash count as one key: then heaps are made sooner, and no answer differs.
type past map[uint64]int

var seed = maphash.MakeSeed()

// remember adds n to the number of a key, and returns the sum. It reports whether the key was there.
func (p past) remember(key []byte, n int) (sum int, again bool) {
	h := maphash.Bytes(seed, key)
	before, again := p[h]
	if !again && len(p) >= maxPast {
		clear(p)
	}
	p[h] = before + n
	return before + n, again
}
