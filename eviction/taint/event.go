package taint

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/taints/edit"
)

// What a node's kubelet does, for [Event.Heartbeats].
const (
	HeartbeatsStop   = "stop"
	HeartbeatsResume = "resume"
)

// Event is a change of one node. Exactly one of Condition, Taint, Heartbeats, Unschedulable and Deleted is set.
type Event struct {
	At   metav1.Duration `json:"at"` // since the start of the forecast, not negative
	Node string          `json:"node"`

	Condition v1.NodeConditionType `json:"condition,omitempty"` // type of a node condition; Status is set too
	Status    v1.ConditionStatus   `json:"status,omitempty"`    // True, False or Unknown
	// Taint is a taint that a user sets or removes, in kubectl's notation: "key=value:Effect", "key:Effect-", "key-".
	// Setting replaces a taint of equal key and effect. Removing a taint that the node does not have does nothing.
	Taint string `json:"taint,omitempty"`
	// Heartbeats says that the kubelet falls silent or is back. When the kubelet is back, pressure conditions are False and
	// Ready is True.
	Heartbeats string `json:"heartbeats,omitempty"`
	// Unschedulable cordons (true) or uncordons (false) the node.
	Unschedulable *bool `json:"unschedulable,omitempty"`
	// Deleted removes the node object.
	Deleted bool `json:"deleted,omitempty"`
}

// rank orders events of equal time:
//
//  1. heartbeats
//  2. conditions
//  3. cordoning
//  4. taints removed
//  5. taints set
//  6. deletion of the node
func (e Event) rank() int {
	switch {
	case e.Heartbeats != "":
		return 1
	case e.Condition != "":
		return 2
	case e.Unschedulable != nil:
		return 3
	case e.Taint != "" && e.Taint[len(e.Taint)-1] == '-':
		return 4
	case e.Taint != "":
		return 5
	}
	return 6
}

// compareEvents orders events, so that events of equal time may be given in any order:
//
//  1. by time
//  2. by node
//  3. by rank
//  4. by the text of the change
func compareEvents(a, b Event) int {
	flag := func(p *bool) int {
		if p != nil && *p {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(a.At.Duration, b.At.Duration),
		cmp.Compare(a.Node, b.Node),
		cmp.Compare(a.rank(), b.rank()),
		cmp.Compare(a.Condition, b.Condition),
		cmp.Compare(a.Status, b.Status),
		cmp.Compare(a.Taint, b.Taint),
		cmp.Compare(a.Heartbeats, b.Heartbeats),
		cmp.Compare(flag(a.Unschedulable), flag(b.Unschedulable)),
	)
}

// ValidateEvents returns the errors of the events. nodes are the nodes that events may name; nil nodes are ignored.
func ValidateEvents(events []Event, nodes []*v1.Node, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	known := map[string]bool{}
	for _, n := range nodes {
		if n != nil {
			known[n.Name] = true
		}
	}
	for i, e := range events {
		at := path.Index(i)
		if e.At.Duration < 0 {
			errs = append(errs, field.Invalid(at.Child("at"), e.At.Duration.String(), "must not be negative"))
		}
		if !known[e.Node] {
			errs = append(errs, field.NotFound(at.Child("node"), e.Node))
		}
		errs = append(errs, validateChange(e, at)...)
	}
	return errs
}

func validateChange(e Event, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	set := 0
	if e.Condition != "" || e.Status != "" {
		set++
		if e.Condition == "" {
			errs = append(errs, field.Required(at.Child("condition"), "a status needs a condition"))
		}
		statuses := []v1.ConditionStatus{v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown}
		if !slices.Contains(statuses, e.Status) {
			errs = append(errs, field.NotSupported(at.Child("status"), e.Status, statuses))
		}
	}
	if e.Taint != "" {
		set++
		if _, _, err := edit.ParseOne(e.Taint); err != nil {
			errs = append(errs, field.Invalid(at.Child("taint"), e.Taint, err.Error()))
		}
	}
	if e.Heartbeats != "" {
		set++
		if e.Heartbeats != HeartbeatsStop && e.Heartbeats != HeartbeatsResume {
			errs = append(errs, field.NotSupported(at.Child("heartbeats"), e.Heartbeats, []string{HeartbeatsStop, HeartbeatsResume}))
		}
	}
	if e.Unschedulable != nil {
		set++
	}
	if e.Deleted {
		set++
	}
	if set != 1 {
		errs = append(errs, field.Invalid(at, set,
			"exactly one of condition, taint, heartbeats, unschedulable and deleted must be set"))
	}
	return errs
}

// apply returns a copy of the node as it is after the event. The event must be valid and not a deletion.
func (e Event) apply(node *v1.Node, now time.Time) *v1.Node {
	node = node.DeepCopy()
	switch {
	case e.Heartbeats == HeartbeatsResume:
		setCondition(node, v1.NodeReady, v1.ConditionTrue, now)
		for _, kind := range []v1.NodeConditionType{v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure} {
			setCondition(node, kind, v1.ConditionFalse, now)
		}
	case e.Condition != "":
		setCondition(node, e.Condition, e.Status, now)
	case e.Unschedulable != nil:
		node.Spec.Unschedulable = *e.Unschedulable
	case e.Taint != "":
		t, removal, _ := edit.ParseOne(e.Taint) // ValidateEvents has checked this
		if removal {
			node.Spec.Taints, _ = edit.Remove(node.Spec.Taints, t.Key, t.Effect)
		} else {
			node.Spec.Taints = edit.AddOrUpdate(node.Spec.Taints, t)
		}
	}
	return node
}

func setCondition(node *v1.Node, kind v1.NodeConditionType, status v1.ConditionStatus, now time.Time) {
	stamp := metav1.NewTime(now)
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == kind {
			if c.Status != status {
				c.LastTransitionTime = stamp
			}
			c.Status, c.LastHeartbeatTime = status, stamp
			return
		}
	}
	node.Status.Conditions = append(node.Status.Conditions,
		v1.NodeCondition{Type: kind, Status: status, LastHeartbeatTime: stamp, LastTransitionTime: stamp})
}
