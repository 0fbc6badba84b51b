package placement

import (
	"reflect"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/placement/internal/reuse"
	"github.com/podberth/podberth/spread"
	"github.com/podberth/podberth/taints"
)

// keyParts returns the parts of the keys that have parts in common, in the order in which the key has them. nil: the key shares no part.
func keyParts(appendKey func(dst []byte, pod *v1.Pod) []byte) []reuse.Part {
	labels := reuse.Part{Name: "labels", Append: key.Labels}
	nodes := reuse.Part{Name: "node affinity", Append: affinity.AppendNodeKey}
	tolerations := reuse.Part{Name: "tolerations", Append: taints.AppendKey}
	is := func(f func(dst []byte, pod *v1.Pod) []byte) bool {
		return reflect.ValueOf(appendKey).Pointer() == reflect.ValueOf(f).Pointer()
	}
	switch {
	case is(spread.AppendKey):
		return []reuse.Part{labels, {Name: "constraints", Append: key.Constraints}, nodes, tolerations}
	case is(affinity.AppendPodKey):
		return []reuse.Part{labels, {Name: "terms", Append: key.PodTerms}}
	case is(affinity.AppendNodeKey):
		return []reuse.Part{nodes}
	case is(taints.AppendKey):
		return []reuse.Part{tolerations}
	}
	return nil
}
