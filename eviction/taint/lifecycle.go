package taint

import (
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/taints/edit"
)

// nodeLifecycle decides which nodes get taints because of their health, as the node lifecycle controller does. The caller
// passes nodes and heartbeats, calls Pass every monitor period and Serve every ServePeriod, and carries out the
// changes; nodeLifecycle takes them for carried out. Create it with newLifecycle; it is not safe for concurrent use.
type nodeLifecycle struct {
	config Config
	nodes  map[string]*member
	zones  map[string]*zone
	halted bool
}

type member struct {
	node     *v1.Node // own copy
	heart    heartbeat
	renewed  time.Time
	wasReady bool
}

type zone struct {
	state   zoneState
	limiter tokenBucket
	queue   taintQueue
}

// nodeChange is what happens to a node at one moment.
type nodeChange struct {
	At      time.Time
	Node    *v1.Node // the node after the change, a copy
	Unknown bool     // conditions turned Unknown because the kubelet is silent
	// NotReady is set when Ready went from True to something else: every pod on the node gets Ready=False, with event
	// NodeNotReady on the pods. Nothing is deleted by that.
	NotReady       bool
	Added, Removed []v1.Taint
}

// zoneChange is a zone that got another state or rate.
type zoneChange struct {
	At       time.Time
	Zone     string // zoneKey
	From, To zoneState
	Rate     float32 // nodes a second that get a NoExecute taint from now on
	Halted   bool    // all zones are in FullDisruption: tainting stops and NoExecute taints are taken back
}

// changes are the changes of one call, nodes by name and zones by key.
type changes struct {
	Nodes []nodeChange
	Zones []zoneChange
}

// newLifecycle returns a controller that knows no node. Bad parameters are an error (Config.Validate).
func newLifecycle(c Config) (*nodeLifecycle, error) {
	if errs := c.Validate(nil); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return &nodeLifecycle{config: c, nodes: map[string]*member{}, zones: map[string]*zone{}}, nil
}

// SetNode takes a node that was added or updated and mirrors its conditions and spec.unschedulable in NoSchedule taints,
// at once. Health is left to Pass.
func (l *nodeLifecycle) SetNode(node *v1.Node, now time.Time) changes {
	m := l.nodes[node.Name]
	if m == nil {
		m = &member{wasReady: isReady(node)}
		l.nodes[node.Name] = m
	}
	m.node = node.DeepCopy()
	var out changes
	change := nodeChange{At: now}
	l.mirror(m, &change)
	l.report(&out, m, change)
	return out
}

// Renew takes the renewTime of a node's lease. Unknown nodes are ignored.
func (l *nodeLifecycle) Renew(name string, renewTime time.Time) {
	if m := l.nodes[name]; m != nil {
		m.renewed = renewTime
	}
}

// DeleteNode forgets a node.
func (l *nodeLifecycle) DeleteNode(name string) {
	delete(l.nodes, name)
	for _, z := range l.zones {
		z.queue.Remove(name)
	}
}

// Node returns the node as it is now, which the caller must not modify; nil when it is unknown.
func (l *nodeLifecycle) Node(name string) *v1.Node {
	if m := l.nodes[name]; m != nil {
		return m.node
	}
	return nil
}

// Halted reports whether all zones are in zoneFull, so that no node gets a NoExecute taint.
func (l *nodeLifecycle) Halted() bool { return l.halted }

// Zone returns the state of a zone, the rate of its limiter and the nodes that wait; the zero values for one unknown.
func (l *nodeLifecycle) Zone(key string) (state zoneState, rate float32, waiting []string) {
	z := l.zones[key]
	if z == nil {
		return zoneInitial, 0, nil
	}
	return z.state, z.limiter.Rate(), z.queue.Names()
}

// Pass looks at all nodes, by name: silent ones turn Unknown, recovered ones lose their NoExecute taints, one taint is
// swapped for the other where Ready changed between False and Unknown, and the rest goes into the queue of its zone. Then
// it looks at the zones: their states set the rates. While all zones are in zoneFull nothing is queued; entering
// that state takes the NoExecute taints of all nodes back and empties the queues, leaving it gives every node a new grace
// period.
func (l *nodeLifecycle) Pass(now time.Time) changes {
	var out changes
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

// Serve gives each zone's first waiting nodes their NoExecute taint as far as the zone's rate allows.
func (l *nodeLifecycle) Serve(now time.Time) changes {
	var out changes
	for _, key := range slices.Sorted(maps.Keys(l.zones)) {
		z := l.zones[key]
		z.queue.Serve(&z.limiter, now, func(name string) (bool, time.Duration) {
			m := l.nodes[name]
			if m == nil {
				return true, 0
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
			return true, 0
		})
	}
	return out
}

// NextServe returns when Serve will next have something to do, not before now; ok is false when nothing waits or no zone
// that has waiting nodes ever accepts.
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

// mirror brings the NoSchedule taints of m in line with its conditions.
func (l *nodeLifecycle) mirror(m *member, change *nodeChange) {
	if node, add, remove := edit.MirrorConditions(m.node, change.At); len(add)+len(remove) > 0 {
		m.node = node
		change.Added, change.Removed = append(change.Added, add...), append(change.Removed, remove...)
	}
}

// health does to m what its Ready condition asks for at once, and queues the rest.
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

func (l *nodeLifecycle) report(out *changes, m *member, change nodeChange) {
	if change.Unknown || change.NotReady || len(change.Added)+len(change.Removed) > 0 {
		change.Node = m.node.DeepCopy()
		out.Nodes = append(out.Nodes, change)
	}
}
