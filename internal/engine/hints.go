package engine

import v1 "k8s.io/api/core/v1"

// Hint is the queueing hint of a rule, of the type of queue.Hint: whether an event could make a pod schedulable that the rule rejected. old
// is nil for an addition, and new is nil for a deletion. The pod must not be nil.
type Hint = func(pod *v1.Pod, old, new any) (bool, error)

// HintOf returns the hint of a rule with the options o. The rule is given by the evaluator or the state of any pod.
func HintOf[O any](rule any, o O) Hint { return rule.(interface{ Hint(o O) Hint }).Hint(o) }

// NoOptions are the options of a rule that has none.
type NoOptions struct{}

// DeviceClass has what the hint of NodeResourcesFit reads of a resource.k8s.io DeviceClass. The API's own type would make every importer of
// package filter link the resource API for one name.
type DeviceClass struct {
	// Name is the name of the class, which provides the resource deviceclass.resource.kubernetes.io/NAME.
	Name string
	// ExtendedResourceName is spec.extendedResourceName, "" when the class provides none.
	ExtendedResourceName v1.ResourceName
}

// EventOf returns the two objects of an event about a T, nil for an absent object. It returns false for an event about another type, and
// for an event without objects.
func EventOf[T any](old, new any) (before, after *T, ok bool) {
	before, after, ok = Typed[T](old, new)
	return before, after, ok && (before != nil || after != nil)
}

// Typed returns the two objects of an event as *T, nil for an absent object. It returns false when one of them has another type.
func Typed[T any](old, new any) (before, after *T, ok bool) {
	before, wasT := old.(*T)
	after, isT := new.(*T)
	if (old != nil && !wasT) || (new != nil && !isT) {
		return nil, nil, false
	}
	return before, after, true
}

// NoNodes is a cluster without nodes, over which a rule has a state.
type NoNodes struct{}

func (NoNodes) Len() int          { return 0 }
func (NoNodes) Node(int) *v1.Node { return nil }
