package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose/near"
	"github.com/podberth/podberth/internal/nodepool"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
)

// demand is what a pod asks of one resource, in the units of package resources.
type demand struct {
	name  v1.ResourceName
	wants int64
}

// room returns the cause of a pod that nodes have no room for: a request larger than any node, a resource that no node offers, enough
// on all nodes together and not on one, or full nodes. Of several resources that are short the one with the worst of these counts.
func (x *sought) room(slots []int, f failure) *Cause {
	var short []demand
	overhead.Each(x.pod, overhead.Options{}, func(name v1.ResourceName, total int64) {
		if total > 0 && slices.ContainsFunc(slots, func(i int) bool { free, _ := x.free(name, i); return free < total }) {
			short = append(short, demand{name, total})
		}
	})
	slices.SortFunc(short, func(a, b demand) int { return strings.Compare(string(a.name), string(b.name)) })
	offered := func(d demand) bool {
		return slices.ContainsFunc(x.slots, func(i int) bool { _, all := x.free(d.name, i); return all > 0 })
	}
	var large *Cause
	for _, d := range short {
		if !offered(d) {
			continue
		}
		largest, all := x.largest(d)
		if all >= d.wants {
			continue
		}
		wants, has := d.text(d.wants, all)
		name := x.c.Node(largest).Name
		if large != nil {
			large.Text += fmt.Sprintf("; %s %s, and %s has %s", d.name, wants, name, has)
			continue
		}
		large = x.asks(causeTooLarge, d)
		large.Wanted, large.Found = wants, name+" "+has
		large.Text = fmt.Sprintf("it asks for %s %s%s, and %s", d.name, wants, x.overhead(d.name), name)
		if len(x.open) > 1 {
			large.Text += fmt.Sprintf(", the largest of %d open nodes,", len(x.open))
		}
		large.Text += " has " + has
		offers := x.allocatable(d.name, largest)
		if offers > all {
			large.Text += " beside the pods of DaemonSets"
		}
		if q := x.c.Node(largest).Status.Capacity[d.name]; !q.IsZero() && resources.Value(d.name, q) > all {
			large.Text += fmt.Sprintf(" (of %s)", q.String())
		} else if offers > all {
			large.Text += fmt.Sprintf(" (of %s)", resources.Human(string(d.name), offers))
		}
	}
	if large != nil {
		for _, d := range short {
			if !offered(d) {
				large.Text += fmt.Sprintf("; %s %s, which no node offers", d.name, resources.Human(string(d.name), d.wants))
			}
		}
		return large
	}
	for _, d := range short {
		if !offered(d) {
			return x.notOffered(d)
		}
	}
	for _, d := range short {
		if c := x.fragments(d); c != nil {
			return c
		}
	}
	if len(short) == 0 {
		for _, i := range slots {
			if most, there := x.pods(i); there >= most {
				x.packed = append(x.packed, i)
			}
		}
		if x.packed == nil {
			return x.other(slots, f)
		}
		first := x.c.Node(x.packed[0])
		most, there := x.pods(x.packed[0])
		has := fmt.Sprintf("%s has %d of %d pods", first.Name, there, most)
		out := &Cause{Type: causeFull, Field: "spec.containers", Found: has, Text: has}
		if n := len(slots); n > 1 {
			out.Text = fmt.Sprintf("%d of %d open nodes are full of pods: %s", n, len(x.open), has)
		}
		if x.owner.kind == "DaemonSet" { // other pods may leave the node
			return out
		}
		out.Text += ", the max-pods of its kubelet"
		if pool, _ := nodepool.Of(first); pool != "" {
			out.Text = strings.TrimSuffix(out.Text, "its kubelet") + "pool " + pool
		}
		return out
	}
	return x.full(slots, short)
}

// overhead says how much of a request the RuntimeClass of the pod adds; "" for nothing.
func (x *sought) overhead(name v1.ResourceName) string {
	q, is := x.pod.Spec.Overhead[name]
	if !is || q.IsZero() || x.pod.Spec.RuntimeClassName == nil {
		return ""
	}
	return fmt.Sprintf(" (%s of it is the overhead of RuntimeClass %s)", q.String(), *x.pod.Spec.RuntimeClassName)
}

// pods returns how many pods a node may have, and how many it has.
func (x *sought) pods(i int) (most, there int) {
	q := x.c.Node(i).Status.Allocatable[v1.ResourcePods]
	for range x.c.Pods(i) {
		there++
	}
	return int(q.Value()), there
}

// text writes two amounts of the resource so that they differ.
func (d demand) text(a, b int64) (string, string) {
	name := string(d.name)
	if resources.Human(name, a) == resources.Human(name, b) {
		return resources.Exact(name, a), resources.Exact(name, b)
	}
	return resources.Human(name, a), resources.Human(name, b)
}

func (x *sought) asks(kind string, d demand) *Cause {
	return &Cause{Type: kind, Field: "spec.containers", Wanted: resources.Human(string(d.name), d.wants)}
}

// free returns how much of a resource is free on a slot, and how much the node offers.
func (x *sought) free(name v1.ResourceName, i int) (free, all int64) {
	c, ok := x.c.Schema().Column(name)
	if !ok {
		return 0, 0
	}
	all = x.c.Allocatable(i).At(c)
	return max(all-x.c.Requested(i).At(c), 0), all
}

// largest returns the open node that has most of a resource for pods that are no DaemonSet's, the first in scan order, or the first one that has enough.
func (x *sought) largest(d demand) (slot int, most int64) {
	most = -1
	for _, i := range x.open {
		_, all := x.free(d.name, i)
		if all < d.wants && all <= most {
			continue
		}
		if all -= x.daemons(d.name, i); all > most {
			slot, most = i, all
		}
		if most >= d.wants {
			break
		}
	}
	return slot, most
}

// daemons returns how much of a resource the pods of DaemonSets on a slot ask for; 0 for a pod of a DaemonSet.
func (x *sought) daemons(name v1.ResourceName, slot int) (sum int64) {
	if x.owner.kind == "DaemonSet" {
		return 0
	}
	for p := range x.c.Pods(slot) {
		if c := metav1.GetControllerOfNoCopy(p); c != nil && c.Kind == "DaemonSet" {
			sum += resources.Value(name, overhead.Requests(p, overhead.Options{})[name])
		}
	}
	return sum
}

func (x *sought) allocatable(name v1.ResourceName, i int) int64 {
	_, all := x.free(name, i)
	return all
}

// notOffered returns the cause of a resource that no node has; a name that looks alike stands beside it.
func (x *sought) notOffered(d demand) *Cause {
	x.unoffered = d
	out := x.asks(causeNotOffered, d)
	out.Text = fmt.Sprintf("it asks for %s %s, which no node offers", out.Wanted, d.name)
	var names []string
	for _, i := range x.slots {
		for name := range x.c.Node(i).Status.Allocatable {
			names = append(names, string(name))
		}
	}
	if meant, ok := near.Meant(string(d.name), names); ok {
		out.Found = meant
		out.Text += "; near: " + meant
		return out
	}
	if node, key := x.machineOf(d.name); node != "" {
		out.Found = node + " has the label " + key
		out.Text += fmt.Sprintf("; %s, so look at the device plugin there", out.Found)
	}
	return out
}

// machineOf returns the first node, in scan order, that has a label of the domain of a device, and the label: the machine has the device, and
// nothing has told the kubelet of it.
func (x *sought) machineOf(name v1.ResourceName) (node, key string) {
	domain, device, is := strings.Cut(string(name), "/")
	if !is {
		return "", ""
	}
	for _, i := range x.slots {
		n := x.c.Node(i)
		for _, k := range slices.Sorted(maps.Keys(n.Labels)) {
			if rest, ours := strings.CutPrefix(k, domain+"/"); ours && strings.HasPrefix(rest, device) {
				return n.Name, k
			}
		}
	}
	return "", ""
}

// fragments returns the cause of a device of which enough is free on several nodes and not on one; nil for other resources.
func (x *sought) fragments(d demand) *Cause {
	if !strings.Contains(string(d.name), "/") {
		return nil
	}
	var sum int64
	var parts []string
	for _, i := range x.open {
		if free, _ := x.free(d.name, i); free > 0 {
			sum += free
			parts = append(parts, fmt.Sprintf("%s %d", x.c.Node(i).Name, free))
		}
	}
	if sum < d.wants || len(parts) < 2 {
		return nil
	}
	out := x.asks(causeFragments, d)
	out.Found = few(parts)
	out.Text = fmt.Sprintf("it asks for %d %s on one node; %d are free: %s", d.wants, d.name, sum, out.Found)
	return out
}

// full returns the cause of nodes without room: what the node has that is nearest. A node that is too small even when it is empty is so only when all are.
func (x *sought) full(slots []int, short []demand) *Cause {
	nearest, least := slots[0], -1.0
	large := func(i int) bool { // the node has enough when it is empty
		return !slices.ContainsFunc(short, func(d demand) bool { return x.allocatable(d.name, i) < d.wants })
	}
	some := slices.ContainsFunc(slots, large)
	for _, i := range slots {
		if some && !large(i) {
			continue
		}
		sum := 0.0
		for _, d := range short {
			if free, _ := x.free(d.name, i); free < d.wants {
				sum += float64(d.wants-free) / float64(d.wants)
			}
		}
		if least < 0 || sum < least {
			nearest, least = i, sum
		}
	}
	var parts, wants []string
	for _, d := range short {
		free, all := x.free(d.name, nearest)
		if free >= d.wants {
			continue
		}
		asked, left := d.text(d.wants, free)
		wants = append(wants, fmt.Sprintf("%s %s", d.name, asked))
		parts = append(parts, fmt.Sprintf("%s of %s free", left, resources.Human(string(d.name), all)))
	}
	name, where := x.c.Node(nearest).Name, x.where()
	out := &Cause{Type: causeFull, Field: "spec.containers", Wanted: joined(wants), Found: name + ": " + joined(parts)}
	switch n := len(x.open); {
	case n == 1:
		out.Text = fmt.Sprintf("it asks for %s, and %s has %s", out.Wanted, name, joined(parts))
	case len(slots) < n:
		out.Text = fmt.Sprintf("it asks for %s, and %s is nearest of %d open nodes%s with %s", out.Wanted, name, n, where, joined(parts))
	case n == 2:
		out.Text = fmt.Sprintf("it asks for %s, and both open nodes%s are too full: %s is nearest with %s", out.Wanted, where, name, joined(parts))
	default:
		out.Text = fmt.Sprintf("it asks for %s, and all %d open nodes%s are too full: %s is nearest with %s", out.Wanted, n, where, name, joined(parts))
	}
	out.Text += x.staying(nearest) + x.resizing(nearest, short)
	return out
}

// where says what nodes must have to be of the pod's pool: " with pool=db" for its own wishes, and " in topology.kubernetes.io/zone=a of
// volume pv-0" for the place of a bound volume. It is "" for a pod that may go to every node.
func (x *sought) where() string {
	var wants []string
	list, terms := x.wishes()
	for _, w := range list {
		if !matches(systemLabels, w.r.Key) {
			wants = append(wants, w.text())
		}
	}
	if terms > 1 {
		wants = append(wants, fmt.Sprintf("one of %d terms of its node affinity", terms))
	}
	text := ""
	if len(wants) > 0 {
		text = " with " + few(wants)
	}
	for _, claim := range x.claims() {
		pvc, ok := cluster.List[*v1.PersistentVolumeClaim](x.c).Get(x.pod.Namespace, claim)
		if !ok || pvc.Spec.VolumeName == "" {
			continue
		}
		if pv, ok := cluster.List[*v1.PersistentVolume](x.c).Get("", pvc.Spec.VolumeName); ok {
			if at, selector := placeOf(pv); selector != nil {
				return fmt.Sprintf("%s in %s of volume %s", text, at, pv.Name)
			}
		}
	}
	return text
}

// offering returns those of some nodes that offer every device that the pod asks for, by extended resources or by claims; all when none
// does.
func (x *sought) offering(slots []int) []int {
	var names []v1.ResourceName
	overhead.Each(x.pod, overhead.Options{}, func(name v1.ResourceName, total int64) {
		if total > 0 && strings.Contains(string(name), "/") {
			names = append(names, name)
		}
	})
	some := func(offers func(i int) bool) {
		var out []int
		for _, i := range slots {
			if offers(i) {
				out = append(out, i)
			}
		}
		if out != nil {
			slots = out
		}
	}
	some(func(i int) bool {
		return !slices.ContainsFunc(names, func(name v1.ResourceName) bool { return x.allocatable(name, i) == 0 })
	})
	if d := x.shortage(); d != nil {
		some(func(i int) bool { _, sees := d.Shortage(i); return sees > 0 })
	}
	return slots
}

// shortage returns the state of the pod's claims of devices, nil for a pod without claims.
func (x *sought) shortage() shortage {
	for _, p := range x.a.Predicates {
		if s, ok := p.(shortage); ok && p.Name() == ofDevices && len(x.pod.Spec.ResourceClaims) > 0 {
			return s
		}
	}
	return nil
}

// shortage is devices.State: how many devices claims lack on a node, and how many they see there.
type shortage interface {
	Shortage(i int) (lacks, sees int)
}

// nearest returns the slot that lacks the fewest devices.
func (x *sought) nearest(slots []int) int {
	best := slots[0]
	if d := x.shortage(); d != nil {
		least, _ := d.Shortage(best)
		for _, i := range slots[1:] {
			if n, _ := d.Shortage(i); n < least {
				best, least = i, n
			}
		}
	}
	return best
}
