package spread

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/podberth/podberth/internal/same"
	"github.com/podberth/podberth/internal/view"
)

// maxSelectors is how many different selectors the constraints of one pod and one action may have, because an effect has
// one bit for each.
const maxSelectors = 32

var errSelectors = errors.New("more than 32 different label selectors in the topology spread constraints of one pod")

// selectors are the different selectors of an evaluator's constraints, one bit each.
type selectors struct {
	namespace string
	list      []labels.Selector
	texts     []string
	counting  uint32 // the selectors that count pods: not the empty one, which counts no pod, and not the nil one
}

// selector returns the constraint's selector with its matchLabelKeys merged in, as the scheduler does at scheduling time
// (rule S1.4). Each key that the pod has adds key = value. A nil selector matches nothing, whatever is added.
func selector(c *v1.TopologySpreadConstraint, pod *v1.Pod) (labels.Selector, error) {
	s, err := same.AsSelector(c.LabelSelector)
	if err != nil || c.LabelSelector == nil {
		return s, err
	}
	for _, key := range c.MatchLabelKeys {
		value, ok := pod.Labels[key]
		if !ok {
			continue
		}
		r, err := labels.NewRequirement(key, selection.Equals, []string{value})
		if err != nil {
			return nil, err
		}
		s = s.Add(*r)
	}
	return s, nil
}

// add returns the bit of s.
func (ss *selectors) add(s labels.Selector) (uint8, error) {
	requirements, selectable := s.Requirements()
	text := s.String()
	if !selectable {
		text = "!nothing"
	}
	for j, t := range ss.texts {
		if t == text {
			return uint8(j), nil
		}
	}
	if len(ss.list) == maxSelectors {
		return 0, errSelectors
	}
	if len(requirements) > 0 {
		ss.counting |= 1 << len(ss.list)
	}
	ss.list = append(ss.list, s)
	ss.texts = append(ss.texts, text)
	return uint8(len(ss.list) - 1), nil
}

// matches returns the selectors that match the labels, as bits. The empty selector matches, a nil selector does not.
func (ss *selectors) matches(set map[string]string) uint32 {
	var mask uint32
	for j, s := range ss.list {
		if s.Matches(labels.Set(set)) {
			mask |= 1 << j
		}
	}
	return mask
}

// effect returns the selectors that count the pod, as bits (rule S2.4): the pod is in the namespace and not being deleted,
// and a selector that is not empty matches it.
func (ss *selectors) effect(pod *v1.Pod) uint32 {
	if ss.counting == 0 || pod.Namespace != ss.namespace || pod.DeletionTimestamp != nil {
		return 0
	}
	return ss.matches(pod.Labels) & ss.counting
}

// visit calls tally for the pods of the cluster that a selector counts, with the selectors as bits, the slot and the number
// of pods. O(matching pod sets) when the cluster has pod sets, otherwise O(all pods).
func (ss *selectors) visit(c Cluster, tally func(mask uint32, slot, n int32)) {
	if ss.counting == 0 {
		return
	}
	sets, ok := c.(view.PodSets)
	if !ok {
		for i := range c.Len() {
			if c.Node(i) == nil {
				continue
			}
			for pod := range c.Pods(i) {
				if mask := ss.effect(pod); mask != 0 {
					tally(mask, int32(i), 1)
				}
			}
		}
		return
	}
	for j, s := range ss.list {
		mask := uint32(1) << j
		if ss.counting&mask == 0 {
			continue
		}
		key, values, _ := view.Narrowest(s) // a selector that counts can match
		requirements, _ := s.Requirements()
		all := key != "" && len(requirements) == 1 // every set with one of these values matches
		if key == "" {
			values = []string{""}
		}
		for _, value := range values { // no pod has two values of a label
			sets.PodSets(ss.namespace, key, value, func(id int32) {
				rep, nodes, counts := sets.PodSet(id)
				if rep == nil || rep.DeletionTimestamp != nil || rep.Namespace != ss.namespace || !all && !s.Matches(labels.Set(rep.Labels)) {
					return
				}
				for x, slot := range nodes {
					tally(mask, slot, counts[x])
				}
			})
		}
	}
}

// idle reports whether no selector counts a running pod.
func (ss *selectors) idle(c Cluster) bool {
	idle := true
	ss.visit(c, func(uint32, int32, int32) { idle = false })
	return idle
}

// describe returns the text of the selector for people.
func (ss *selectors) describe(j uint8) string {
	switch s := ss.list[j]; {
	case ss.texts[j] == "!nothing":
		return "<none>"
	case s.Empty():
		return "<empty>"
	default:
		return fmt.Sprint(s)
	}
}
