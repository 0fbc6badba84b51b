package kubelet_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/eviction"

	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/eviction/pressure"
	"github.com/podberth/podberth/overhead"
)

// graceSeconds returns the grace period of a pod that a threshold evicts: the forecast for a node on which nothing is available
// and no other pod runs. It is 0 for a pod that is never evicted.
func graceSeconds(p *pressure.Policy, t pressure.Threshold, pod *v1.Pod) int64 {
	steps := p.Forecast(t, pressure.Measurement{Capacity: 1 << 40}, pressure.Observation{Pods: []*v1.Pod{pod}}).Steps
	if len(steps) == 0 {
		return 0
	}
	return steps[0].GraceSeconds
}

// check compares a cycle. The kubelet chooses at random among thresholds other than memory and among pods of equal rank. Then
// podberth's ranking must allow the kubelet's choice.
func (n *node) check(policy *pressure.Policy, before, state pressure.State, d pressure.Decision, c *cycle, m eviction.Manager) error {
	n.count(d, c)
	var conditions []v1.NodeConditionType
	for _, x := range []struct {
		is   bool
		name v1.NodeConditionType
	}{{m.IsUnderMemoryPressure(), v1.NodeMemoryPressure}, {m.IsUnderDiskPressure(), v1.NodeDiskPressure}, {m.IsUnderPIDPressure(), v1.NodePIDPressure}} {
		if x.is {
			conditions = append(conditions, x.name)
		}
	}
	if !d.Waiting && !slices.Equal(conditions, d.Conditions) {
		return fmt.Errorf("conditions: real %v, podberth %v (%s)", conditions, d.Conditions, thresholds(d))
	}
	if len(d.LocalStorage) > 0 || d.Acting == nil {
		return n.checkLocal(d, c)
	}
	acting, err := n.choice(d, c)
	if err != nil {
		return err
	}
	reclaim := pressure.Reclaims(acting.Signal, n.layout)
	if !slices.Equal(reclaim, c.reclaimed) {
		return fmt.Errorf("reclaimed for %v: real %v, podberth %v", acting, c.reclaimed, reclaim)
	}
	if len(reclaim) > 0 {
		if c.looks != 2 {
			return fmt.Errorf("the kubelet looked %d times", c.looks)
		}
		if policy.Relieved(state, pressure.Measure(c.after)) {
			n.Count("relieved")
			if len(c.killed) > 0 {
				return fmt.Errorf("relieved, but the real one evicts %s", c.killed[0].pod.Name)
			}
			return nil
		}
	}
	ranking := d.Ranking
	if acting != *d.Acting {
		n.Count("another threshold")
		ranking = pressure.Rank(acting.Signal, n.layout, c.see.Pods, c.see.Stats, pressure.Options{Release: trial.Linked})
	}
	first := slices.IndexFunc(ranking, func(r pressure.Ranked) bool { return r.Exempt == "" })
	if first < 0 {
		n.Count("nobody to evict")
		if len(c.killed) > 0 {
			return fmt.Errorf("podberth evicts nobody, the real one %s", c.killed[0].pod.Name)
		}
		return nil
	}
	if len(c.killed) != 1 {
		return fmt.Errorf("for %v podberth evicts %s, the real one %d pods", acting, ranking[first].Pod.Name, len(c.killed))
	}
	n.Count("evicted for " + acting.Signal.Resource())
	got := c.killed[0]
	at := slices.IndexFunc(ranking, func(r pressure.Ranked) bool { return r.Pod.UID == got.pod.UID })
	if at < 0 || ranking[at].Exempt != "" || !tied(acting.Signal, ranking[at], ranking[first]) {
		return fmt.Errorf("for %v: real evicts %s, podberth's order is %s", acting, got.pod.Name, order(ranking))
	}
	if want := graceSeconds(policy, acting, got.pod); want != got.grace {
		return fmt.Errorf("grace of %s for %v: real %d, podberth %d", got.pod.Name, acting, got.grace, want)
	}
	if acting != *d.Acting || d.Eviction.Pod.UID != got.pod.UID {
		return nil
	}
	n.Count("message compared")
	if d.Eviction.GraceSeconds != got.grace {
		return fmt.Errorf("grace of %s: real %d, podberth %d", got.pod.Name, got.grace, d.Eviction.GraceSeconds)
	}
	return n.told(*d.Eviction, got, c)
}

// told compares the texts about an eviction.
func (n *node) told(e pressure.Eviction, k kill, c *cycle) error {
	if k.status.Phase != v1.PodFailed || k.status.Reason != pressure.Reason || k.status.Message != e.Message {
		return fmt.Errorf("status: real %s %s %q, podberth %q", k.status.Phase, k.status.Reason, k.status.Message, e.Message)
	}
	var want *v1.PodCondition
	for i := range k.status.Conditions {
		want = &k.status.Conditions[i]
	}
	if (want == nil) != (e.Disrupted == nil) || want != nil && (want.Type != e.Disrupted.Type || want.Status != e.Disrupted.Status || want.Reason != e.Disrupted.Reason || want.Message != e.Disrupted.Message) {
		return fmt.Errorf("condition: real %v, podberth %v", want, e.Disrupted)
	}
	if text := "Warning " + pressure.Reason + " " + e.Message; !slices.Contains(c.podEvents, text) {
		return fmt.Errorf("events: real %q, podberth %q", c.podEvents, text)
	}
	if len(c.killed) == 1 && !maps.Equal(c.annotation, e.Annotations) {
		return fmt.Errorf("annotations: real %v, podberth %v", c.annotation, e.Annotations)
	}
	return nil
}

func (n *node) checkLocal(d pressure.Decision, c *cycle) error {
	if len(c.reclaimed) > 0 || c.event != "" {
		return fmt.Errorf("nothing to act on, but the real one acts: %q, %v (%s)", c.event, c.reclaimed, thresholds(d))
	}
	want := map[string]pressure.Eviction{}
	for _, e := range d.LocalStorage {
		want[e.Pod.Name] = e
	}
	if c.killErr != nil && len(c.killed) > 0 && len(want) > 0 { // the kubelet writes nothing about other pods
		return nil
	}
	if len(c.killed) != len(want) {
		return fmt.Errorf("local storage: real evicts %d pods, podberth %v", len(c.killed), slices.Sorted(maps.Keys(want)))
	}
	for _, k := range c.killed {
		e, ok := want[k.pod.Name]
		if !ok {
			return fmt.Errorf("local storage: real evicts %s (%q)", k.pod.Name, k.status.Message)
		}
		if e.GraceSeconds != k.grace {
			return fmt.Errorf("grace of %s: real %d, podberth %d", k.pod.Name, k.grace, e.GraceSeconds)
		}
		if err := n.told(e, k, c); err != nil {
			return err
		}
	}
	return nil
}

// choice finds the threshold on which the kubelet acts, among the thresholds that it may choose.
func (n *node) choice(d pressure.Decision, c *cycle) (pressure.Threshold, error) {
	text := func(t pressure.Threshold) string {
		return "Warning EvictionThresholdMet Attempting to reclaim " + t.Signal.Resource()
	}
	if want := "Warning EvictionThresholdMet " + d.Event; want != text(*d.Acting) {
		return *d.Acting, fmt.Errorf("podberth's event %q", want)
	}
	var able []pressure.Threshold
	memory := false
	for _, s := range d.Thresholds {
		if s.Actionable {
			able = append(able, s.Threshold)
			memory = memory || s.Threshold.Signal.Resource() == "memory"
		}
	}
	if memory {
		able = slices.DeleteFunc(able, func(t pressure.Threshold) bool { return t.Signal.Resource() != "memory" })
	}
	if !slices.Contains(able, *d.Acting) {
		return *d.Acting, fmt.Errorf("podberth acts on %v, which is not due", d.Acting)
	}
	able = slices.DeleteFunc(able, func(t pressure.Threshold) bool {
		return text(t) != c.event || !slices.Equal(pressure.Reclaims(t.Signal, n.layout), c.reclaimed)
	})
	// Several thresholds can have that resource and reclaim the same. The evicted pod and its grace period decide between them.
	if slices.Contains(able, *d.Acting) && (len(c.killed) == 0 || d.Eviction != nil && c.killed[0].pod.UID == d.Eviction.Pod.UID && c.killed[0].grace == d.Eviction.GraceSeconds &&
		c.killed[0].status.Message == d.Eviction.Message) {
		return *d.Acting, nil
	}
	for _, s := range d.Thresholds {
		if s.Threshold != *d.Acting && slices.Contains(able, s.Threshold) && n.explains(s, c) {
			return s.Threshold, nil
		}
	}
	if slices.Contains(able, *d.Acting) {
		return *d.Acting, nil
	}
	if len(able) > 0 {
		return able[0], nil
	}
	return *d.Acting, fmt.Errorf("real says %q and reclaims %v, podberth %q (%s)", c.event, c.reclaimed, d.Event, thresholds(d))
}

// explains reports whether the threshold leads to the kubelet's eviction. check calls it for thresholds that podberth did not
// choose, and compares only the pod.
func (n *node) explains(s pressure.Status, c *cycle) bool {
	if len(c.killed) != 1 {
		return true
	}
	t := s.Threshold
	available := t.Signal.Quantity(s.Measured.Available)
	says := "The node was low on resource: " + t.Signal.Resource() + ". Threshold quantity: " + s.Value.String() + ", available: " + available.String() + ". "
	if !strings.HasPrefix(c.killed[0].status.Message, says) {
		return false
	}
	ranking := pressure.Rank(t.Signal, n.layout, c.see.Pods, c.see.Stats, pressure.Options{Release: trial.Linked})
	first := slices.IndexFunc(ranking, func(r pressure.Ranked) bool { return r.Exempt == "" })
	at := slices.IndexFunc(ranking, func(r pressure.Ranked) bool { return r.Pod.UID == c.killed[0].pod.UID })
	if at < 0 || first < 0 || !tied(t.Signal, ranking[at], ranking[first]) {
		return false
	}
	return n.policyGrace(t, c.killed[0].pod) == c.killed[0].grace
}

// tied reports whether the pods are equal for every comparator of the signal.
func tied(s pressure.Signal, a, b pressure.Ranked) bool {
	if a.Priority != b.Priority {
		return false
	}
	if s == "pid.available" {
		return a.Usage == b.Usage
	}
	if a.Measured != b.Measured {
		return false
	}
	if !a.Measured {
		return true
	}
	x, y := ephemeral(s, a.Pod), ephemeral(s, b.Pod)
	return a.Exceeds == b.Exceeds && a.Usage-a.Request-x == b.Usage-b.Request-y
}

// ephemeral returns the amount that the ranking by inodes subtracts.
func ephemeral(s pressure.Signal, p *v1.Pod) int64 {
	if !strings.HasSuffix(string(s), ".inodesFree") {
		return 0
	}
	if p.Spec.Resources != nil { // then it is nothing
		return 0
	}
	q := overhead.Requests(p, overhead.Options{})[v1.ResourceEphemeralStorage]
	return q.Value()
}

func order(ranking []pressure.Ranked) string {
	out := ""
	for _, r := range ranking {
		out += fmt.Sprintf("\n  %s exempt %q measured %v usage %d request %d priority %d", r.Pod.Name, r.Exempt, r.Measured, r.Usage, r.Request, r.Priority)
	}
	return out
}

func thresholds(d pressure.Decision) string {
	var out []string
	for _, s := range d.Thresholds {
		out = append(out, fmt.Sprintf("%v met %v due %v actionable %v", s.Threshold, s.Met, s.Due, s.Actionable))
	}
	return strings.Join(out, "; ")
}

func (n *node) count(d pressure.Decision, c *cycle) {
	n.Count("cycle")
	n.Count("layout " + string(n.layout))
	if d.Waiting {
		n.Count("unknown layout")
	}
	if len(d.LocalStorage) > 0 {
		n.Count("local storage")
	}
	if d.Acting != nil && d.Acting.Grace > 0 {
		n.Count("soft")
	}
	met := slices.ContainsFunc(d.Thresholds, func(s pressure.Status) bool { return s.Met })
	if len(d.Conditions) > 0 && !met {
		n.Count("condition without a threshold met")
	}
}
