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
func (e *Engine) serves(pod *v1.Pod, order []int) bool {
	for _, skips := range e.skips {
		if !skips(pod) {
			return false
		}
	}
	e.scan = order
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
	s, ok := e.kinds[string(e.buffers.key)]
	if !ok {
		s = e.newKind(pod, string(e.buffers.key), few)
	}
	if s == nil || !s.follow(pod) {
		return nil
	}
	return s
}

// newKind returns a kind for a pod that has none of its own.
func (e *Engine) newKind(pod *v1.Pod, key string, few int) *podKind {
	looked, again := e.pastPods.remember(e.buffers.key, few)
	if bare := few > 0 && looked < e.log.Len(); bare || !again {
		return e.sharedKind(pod, key, bare)
	}
	if len(e.kinds) >= maxKinds {
		e.forget()
	}
	c := e.compile(pod)
	s := e.unshare(pod, key, c)
	if s == nil {
		s = &podKind{engine: e, pod: pod, madeFor: key, podKey: key, heaps: true}
		s.build(c)
	}
	e.kinds[key] = s
	return s
}

// sharedKind returns the kind that is shared by all pods with the same effect on the states and the same statics; nil when there is
// none. From the second pod with the same requests on, those pods have a kind with heaps, but for a bare one.
func (e *Engine) sharedKind(pod *v1.Pod, key string, bare bool) *podKind {
	c := e.compile(pod)
	if c == nil {
		return nil
	}
	shared, heaps := e.sharedKey(pod, c, bare)
	s, ok := e.sharedKinds[shared]
	if !ok {
		if len(e.sharedKinds) >= maxKinds {
			clear(e.sharedKinds) // kinds of their own keep what they use
			clear(e.statics)
			maps.DeleteFunc(e.layouts, func(_ string, l *layout) bool { return l.own })
		}
		s = &podKind{engine: e, pod: pod, madeFor: key, heaps: heaps, shared: true}
		s.build(c)
		e.sharedKinds[shared] = s
	}
	s.served++
	s.podKey = key
	return s
}

// sharedKey returns the key of a shared kind, and whether the kind has heaps: a bare one has none.
func (e *Engine) sharedKey(pod *v1.Pod, c []counted, bare bool) (key string, heaps bool) {
	b := append(e.buffers.key[:0], 0)
	if !bare {
		b = e.rowKeys.append(b, pod)
		if _, heaps = e.pastRows.remember(b[1:], 0); heaps {
			b[0] = 1
		} else {
			b = b[:1]
		}
	}
	b = e.staticKeys.append(b, pod)
	b = appendStateKeys(b, c)
	e.buffers.key = b
	return string(b), heaps
}

// unshare returns the shared kind that was made for this pod and has served no other pod: it becomes the pod's own kind. nil: there is none.
func (e *Engine) unshare(pod *v1.Pod, key string, c []counted) *podKind {
	if c == nil {
		return nil
	}
	shared, _ := e.sharedKey(pod, c, false)
	s := e.sharedKinds[shared]
	if s == nil || !s.heaps || s.madeFor != key || s.served > 1 {
		return nil
	}
	delete(e.sharedKinds, shared) // safe: the kind is new and has not learnt any effects
	s.shared = false
	return s
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
