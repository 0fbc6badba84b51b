package scheduler

import (
	"errors"
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
)

// ErrNotFound is the error of reading a key that was not written in this attempt.
var ErrNotFound = errors.New("not found")

// State holds the values that the plugins of one attempt share, from [PreFilter] to [PostBind]. Plugins read and write the
// values through typed keys, so that no type assertion can fail. A State is safe for concurrent use. Its values are
// not.
type State struct {
	mu     sync.Mutex
	values map[any]cell

	// PodsToActivate move to the active queue at the end of a successful scheduling cycle, and again after binding.
	PodsToActivate PodsToActivate

	skipFilter, skipScore, skipPreBind, parallel map[string]bool // by plugin name
}

type cell struct {
	value any
	clone func(value any) any // nil: shared
}

// NewState returns an empty state.
func NewState() *State {
	return &State{
		values: map[any]cell{}, skipFilter: map[string]bool{}, skipScore: map[string]bool{},
		skipPreBind: map[string]bool{}, parallel: map[string]bool{},
	}
}

// Clone returns a copy for what-if questions. Values that have a method Clone are copied by that method. The other
// values are shared, and so is the record of which plugins skip. The clone of nil is nil.
func (s *State) Clone() *State {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &State{
		values: maps.Clone(s.values), skipFilter: s.skipFilter, skipScore: s.skipScore,
		skipPreBind: s.skipPreBind, parallel: s.parallel,
	}
	for k, v := range c.values {
		if v.clone != nil {
			v.value = v.clone(v.value)
			c.values[k] = v
		}
	}
	return c
}

// Key names one value of type T in a [State]. Keys are compared by identity: make one with [NewKey] and share it between the
// plugins that use the value.
type Key[T any] struct{ name string }

// NewKey returns a key. The name is for people.
func NewKey[T any](name string) *Key[T] { return &Key[T]{name} }

// String returns the name.
func (k *Key[T]) String() string { return k.name }

// Write sets the value. If T has a method Clone() T, clones of the state hold clones of the value.
func (k *Key[T]) Write(s *State, value T) {
	c := cell{value: value}
	if _, ok := any(value).(interface{ Clone() T }); ok {
		c.clone = func(value any) any { return value.(interface{ Clone() T }).Clone() }
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[k] = c
}

// Read returns the value. It returns [ErrNotFound] if the key was not written.
func (k *Key[T]) Read(s *State) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.values[k]; ok {
		value, _ := c.value.(T) // a nil interface is no T
		return value, nil
	}
	var none T
	return none, ErrNotFound
}

// Delete removes the value.
func (k *Key[T]) Delete(s *State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values, k)
}

// PodsToActivate collects the pods that plugins want to be active at the end of a successful scheduling or binding cycle. The
// zero value is empty. It is not safe for concurrent use.
type PodsToActivate struct {
	pods map[string]*v1.Pod // by namespace/name
}

// Add lists a pod. nil is ignored.
func (p *PodsToActivate) Add(pod *v1.Pod) {
	if pod == nil {
		return
	}
	if p.pods == nil {
		p.pods = map[string]*v1.Pod{}
	}
	p.pods[pod.Namespace+"/"+pod.Name] = pod
}

// take returns the listed pods by name and empties the list.
func (p *PodsToActivate) take() []*v1.Pod {
	var pods []*v1.Pod
	for _, name := range slices.Sorted(maps.Keys(p.pods)) {
		pods = append(pods, p.pods[name])
	}
	p.pods = nil
	return pods
}
