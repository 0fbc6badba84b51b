package volume

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// classifier is optional: per slot a class of nodes that are equal in all that reads names (-1 for a free slot), and one
// slot of each class; false when it does not know what reads names.
type classifier interface {
	Classes(reads []string) (ids, reps []int32, ok bool)
}

// byClass holds one verdict for each class of nodes.
type byClass struct {
	ids      []int32
	verdicts []resources.Verdict
	none     resources.Verdict // of a free slot
}

// decideClasses decides every class of nodes once, nil when the cluster offers none.
func decideClasses(c Cluster, reads []string, decide func(node *v1.Node) resources.Verdict) *byClass {
	k, ok := c.(classifier)
	if !ok {
		return nil
	}
	ids, reps, ok := k.Classes(reads)
	if !ok {
		return nil
	}
	b := &byClass{ids: ids, verdicts: make([]resources.Verdict, len(reps)), none: decide(&noNode)}
	for class, rep := range reps {
		if n := c.Node(int(rep)); n != nil {
			b.verdicts[class] = decide(n)
		}
	}
	return b
}

func (b *byClass) check(i int) resources.Verdict {
	if i >= len(b.ids) || b.ids[i] < 0 {
		return b.none
	}
	return b.verdicts[b.ids[i]]
}

var noNode v1.Node // a free slot: no name, no labels; never written to
