package taint

import (
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/taints/edit"
)

// nodeLifecycle decides which nodes get taints because of their health, as the node lifecycle controller does. The caller
// passes nodes and heartbeats, calls Pass every monitor period and Serve every ServePeriod, and carries out the changes;
// nodeLifecycle assumes that the changes were made. Create it with newLifecycle. It is not safe for concurrent use.
type nodeLifecycle struct {
	config Config
	nodes  map[string]*member
	zones  map[string]*zone
	halted bool
}

type member struct {
	node     *v1.Node // a copy that belongs to the controller
	heart    heartbeat
	renewed  time.Time
	wasReady bool
}

type zone struct {
	state   zoneState
	limiter tokenBucket
	queue   taintQueue
}

// nodeChange is the changes of a node at one moment.
type nodeChange struct {
	At      time.Time
	Node    *v1.Node // copy of the node after the change
	Unknown bool     // conditions became Unknown because the kubelet is silent
	// NotReady is true when Ready changed from True to something else. Then every pod on the node gets Ready=False and an
	// event NodeNotReady (rule XZ3.4). No pod is deleted because of NotReady.
	NotReady       bool
	Added, Removed []v1.Taint
}

// zoneChange is a change of a zone's state or rate.
type zoneChange struct {
	At       time.Time
	Zone     string // the zone key, see function zoneKey
	From, To zoneState
	Rate     float32 // nodes per second that get a NoExecute taint from now on
	Halted   bool    // all zones are in FullDisruption: tainting stops and NoExecute taints are removed
}

// lifecycleChanges are the changes of one call: nodes by name and zones by key.
type lifecycleChanges struct {
	Nodes []nodeChange
	Zones []zoneChange
}

// newLifecycle returns a controller that knows no node. The parameters must be valid.
func newLifecycle(c Config) *nodeLifecycle {
	return &nodeLifecycle{config: c, nodes: map[string]*member{}, zones: map[string]*zone{}}
}

// SetNode takes a node that was added or updated. At once it mirrors conditions and spec.unschedulable as NoSchedule taints
// (rule XZ4.1). Pass handles the health of the node.
func (l *nodeLifecycle) SetNode(node *v1.Node, now time.Time) lifecycleChanges {
	m := l.nodes[node.Name]
	if m == nil {
		m = &member{wasReady: isReady(node)}
		l.nodes[node.Name] = m
	}
	m.node = node.DeepCopy()
	var out lifecycleChanges
	change := nodeChange{At: now}
	l.mirror(m, &change)
	l.report(&out, m, change)
	return out
}

// Renew takes the renewTime of a node's lease. It ignores unknown nodes.
func (l *nodeLifecycle) Renew(name string, renewTime time.Time) {
	if m := l.nodes[name]; m != nil {
		m.renewed = renewTime
	}
}

// DeleteNode removes a node.
func (l *nodeLifecycle) DeleteNode(name string) {
	delete(l.nodes, name)
	for _, z := range l.zones {
		z.queue.Remove(name)
	}
}

// Node returns the node as it is now, nil when the node is unknown. The caller must not modify the node.
func (l *nodeLifecycle) Node(name string) *v1.Node {
	if m := l.nodes[name]; m != nil {
		return m.node
	}
	return nil
}

// Halted reports whether all zones are in zoneFull, so that no node gets a NoExecute taint (rule XZ7.4).
func (l *nodeLifecycle) Halted() bool { return l.halted }

// Zone returns the state of a zone, the rate of its limiter and the waiting nodes; zero values for an unknown zone.
func (l *nodeLifecycle) Zone(key string) (state zoneState, rate float32, waiting []string) {
	z := l.zones[key]
	if z == nil {
		return zoneInitial, 0, nil
	}
	return z.state, z.limiter.Rate(), z.queue.Names()
}

// Pass looks at all nodes, ordered by name:
//
//  1. Conditions of silent nodes become Unknown.
//  2. Recovered nodes lose their NoExecute taints (rule XZ5.2).
//  3. When Ready changed between False and Unknown, the new taint replaces the old one (rule XZ5.1).
//  4. Other failing nodes are put into the queue of their zone.
//
// Then Pass sets the states and the rates of the zones (rules XZ7.1 to XZ7.7). While all zones are in zoneFull, no node is
// queued. When all zones enter zoneFull, Pass removes the NoExecute taints of all nodes and empties the queues. When a zone
// leaves zoneFull again, every node has a new grace period.
func (l *nodeLifecycle) Pass(now time.Time) lifecycleChanges {
	var out lifecycleChanges
	byZone := map[string][]*v1.Node{}
	for _, name := range slices.Sorted(maps.Keys(l.nodes)) {
		m := l.nodes[name]
		change := nodeChange{At: now}
		m.heart = m.heart.Observe(m.node, m.renewed, now)
		if m.heart.Silent(now, l.config) {
			m.node, change.Unknown = withUnknown(m.node, now)
		}
		l.mirror(m, &change)
		ready := isReady(m.node)
		change.NotReady = m.wasReady && !ready
		m.wasReady = ready
		key := zoneKey(m.node)
		if l.zones[key] == nil {
			l.zones[key] = &zone{limiter: newTokenBucket(l.config.evictionRate(), now)}
		}
		byZone[key] = append(byZone[key], m.node)
		if !l.halted {
			l.health(m, l.zones[key], now, &change)
		}
		l.report(&out, m, change)
	}
	l.disruption(byZone, now, &out)
	return out
}

// Serve gives the first waiting nodes of each zone their NoExecute taint, as many as the zone's rate allows.
func (l *nodeLifecycle) Serve(now time.Time) lifecycleChanges {
	var out lifecycleChanges
	for _, key := range slices.Sorted(maps.Keys(l.zones)) {
		z := l.zones[key]
		z.queue.Serve(&z.limiter, now, func(name string) {
			m := l.nodes[name]
			if m == nil {
				return
			}
			status, _ := edit.Ready(m.node)
			change := nodeChange{At: now}
			if h := edit.Health(m.node, status); h.Wants != "" {
				want := v1.Taint{Key: h.Wants, Effect: v1.TaintEffectNoExecute}
				if !slices.ContainsFunc(m.node.Spec.Taints, func(t v1.Taint) bool { return t.MatchTaint(&want) }) {
					h.Add = []v1.Taint{want}
				}
				l.apply(m, h, now, &change)
			}
			l.report(&out, m, change)
		})
	}
	return out
}

// NextServe returns the time, at now or later, at which Serve can do something. ok is false when no node waits, or when no
// zone with waiting nodes has a rate above 0.
func (l *nodeLifecycle) NextServe(now time.Time) (at time.Time, ok bool) {
	for _, z := range l.zones {
		if z.queue.Len() == 0 {
			continue
		}
		if next, will := z.limiter.Next(now); will && (!ok || next.Before(at)) {
			at, ok = next, true
		}
	}
	return at, ok
}

// mirror changes the NoSchedule taints of m to those of its conditions.
func (l *nodeLifecycle) mirror(m *member, change *nodeChange) {
	node, add, remove := edit.MirrorConditions(m.node, change.At)
	m.node = node
	change.Added, change.Removed = append(change.Added, add...), append(change.Removed, remove...)
}

// health changes the NoExecute taints of m as far as its Ready condition demands at once, and queues the node otherwise.
func (l *nodeLifecycle) health(m *member, z *zone, now time.Time, change *nodeChange) {
	status, _ := edit.Ready(m.node)
	h := edit.Health(m.node, status)
	switch {
	case h.Queue:
		z.queue.Add(m.node.Name, now)
	case status == v1.ConditionTrue:
		for _, z := range l.zones {
			z.queue.Remove(m.node.Name)
		}
	}
	l.apply(m, h, now, change)
}

func (l *nodeLifecycle) apply(m *member, h edit.HealthChange, now time.Time, change *nodeChange) {
	if len(h.Add)+len(h.Remove) > 0 {
		m.node = h.Apply(m.node, now)
		change.Added, change.Removed = append(change.Added, h.Add...), append(change.Removed, h.Remove...)
	}
}

func (l *nodeLifecycle) report(out *lifecycleChanges, m *member, change nodeChange) {
	if change.Unknown || change.NotReady || len(change.Added)+len(change.Removed) > 0 {
		change.Node = m.node.DeepCopy()
		out.Nodes = append(out.Nodes, change)
	}
}
