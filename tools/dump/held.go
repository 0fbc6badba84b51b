package dump

import (
	"errors"
	"io"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/admission"
)

// Hold returns a standard input that has been read already: every [Read] of "-" alone gives a copy of these objects. So a program that
// answers many questions reads its input once, and checks the pods once. Hold gives UIDs to pods and owners that have none; afterwards nobody may change the
// objects, Reads may run at the same time.
//
// A copy is as deep as programs change objects: nodes, pods and budgets are copied, what their fields point to is not. O(objects).
func Hold(o *Objects) io.Reader {
	o.Workloads()
	for _, p := range o.Pods {
		if p.UID == "" {
			p.UID = types.UID(key(p))
		}
	}
	h := &held{objects: o, pods: make([]bool, len(o.Pods)), others: map[metav1.Object]bool{}}
	for k, p := range o.Pods {
		h.pods[k] = o.sound[p] || len(Invalid(p, admission.Options{})) == 0
	}
	for x := range o.Others() {
		h.others[x] = o.soundOthers[x] || len(Invalid(x, admission.Options{})) == 0
	}
	return h
}

// Sound reports whether a pod, or another object that is no node, is known to be one that the API server takes: Hold has checked it, and [Read]
// has given it. It must be as Read has given it.
func (o *Objects) Sound(object metav1.Object) bool {
	if p, is := object.(*v1.Pod); is {
		return o.sound[p]
	}
	return o.soundOthers[object]
}

// held is an input that has been read.
type held struct {
	objects *Objects
	pods    []bool // whether they are sound
	others  map[metav1.Object]bool
}

// Read is never called by this package: a held input has no text.
func (h *held) Read([]byte) (int, error) {
	return 0, errors.New("the input is held as objects and has no text")
}

// copied returns what Read gives for a held input.
func (h *held) copied() *Objects {
	o := *h.objects
	o.Nodes = mapped(o.Nodes, func(n *v1.Node) *v1.Node {
		c := *n
		c.Spec.Taints = slices.Clip(c.Spec.Taints)
		return &c
	})
	o.Pods = mapped(o.Pods, func(p *v1.Pod) *v1.Pod { c := *p; return &c })
	o.sound = make(map[*v1.Pod]bool, len(o.Pods))
	for k, p := range o.Pods {
		o.sound[p] = h.pods[k]
	}
	o.soundOthers = h.others
	o.PodDisruptionBudgets = mapped(o.PodDisruptionBudgets, func(b *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget {
		c := *b
		return &c
	})
	for name, k := range kinds {
		if name != "Node" && name != "Pod" && name != "PodDisruptionBudget" {
			k.clip(&o)
		}
	}
	o.UnknownFields, o.Warnings = slices.Clip(o.UnknownFields), o.Warnings.Clip()
	return &o
}
