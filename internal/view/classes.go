package view

import v1 "k8s.io/api/core/v1"

type classifier interface {
	// Classes gives each slot the number of its class, -1 for a free slot, and gives one slot of each class. The nodes of
	// a class are equal in everything that reads names. ok is false when the cluster does not offer these reads.
	Classes(reads []string) (ids, reps []int32, ok bool)
}

// Classes holds one answer for each class of equal nodes. The zero value has no answers. It is immutable and safe for
// concurrent use.
type Classes[T any] struct {
	ids     []int32
	answers []T
}

// Classify asks decide once for each class of nodes that are equal in everything that reads names. The result has no
// answers when the cluster does not offer classes for these reads. O(classes).
func Classify[T any](c Nodes, reads []string, decide func(node *v1.Node) T) Classes[T] {
	k, ok := c.(classifier)
	if !ok {
		return Classes[T]{}
	}
	ids, reps, ok := k.Classes(reads)
	if !ok {
		return Classes[T]{}
	}
	answers := make([]T, len(reps))
	for class, slot := range reps {
		if slot < 0 {
			continue
		}
		if node := c.Node(int(slot)); node != nil {
			answers[class] = decide(node)
		}
	}
	return Classes[T]{ids, answers}
}

// At returns the answer for the node of slot i. It returns nil for a free slot, for a slot outside the cluster and when
// the cluster offers no classes; the caller then looks at the node. No allocation.
func (c *Classes[T]) At(i int) *T {
	if uint(i) < uint(len(c.ids)) {
		if class := c.ids[i]; uint32(class) < uint32(len(c.answers)) {
			return &c.answers[class]
		}
	}
	return nil
}

// Answers returns the answers of all classes, none when the cluster offers no classes. The caller must not modify the slice.
func (c *Classes[T]) Answers() []T { return c.answers }

// Offered reports whether the cluster offered classes. A nil answer then means a free slot.
func (c *Classes[T]) Offered() bool { return c.ids != nil }
