package cluster

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	podkey "github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/internal/plainpod"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
)

// info has what a pod counts with on a node: its pod set and term set, its requests, and whether it holds host ports. Pods
// that count the same share one info. An info is immutable.
type info struct {
	set, terms     int32
	setID, termsID *identity
	request        resources.Vector // without zeros at the end; column Pods is 1
	cpu, memory    int64            // non-zero requests
	ports          bool
	usual          [resources.Scalars]int64 // room for the request of a pod that asks for no other resources
}

// prepare returns what a pod counts with. It writes to the snapshot: it registers the pod's labels, terms and resource
// names. prepare makes a new info after ids got other meanings. Otherwise pods that count the same get the same info.
func (s *Snapshot) prepare(pod *v1.Pod) *info {
	set := s.internSet(pod)
	terms := s.internTerms(pod)
	request, cpu, memory := s.requests(s.request, pod)
	s.request = request
	ports := holdsPorts(pod)

	g := s.sets.at(set)
	for _, i := range g.infos {
		if i.terms == terms && i.cpu == cpu && i.memory == memory && i.ports == ports && slices.Equal(i.request, request) && s.valid(i) {
			return i
		}
	}
	i := &info{
		set: set, terms: terms, setID: g.id,
		cpu: cpu, memory: memory, ports: ports,
	}
	i.request = append(i.usual[:0], request...)
	if terms >= 0 {
		i.termsID = s.terms.at(terms).id
	}
	if len(g.infos) < sharedInfos {
		w := s.sets.write(s.own, set)
		w.infos = append(w.infos, i)
	}
	return i
}

// sharedInfos is the largest number of shared infos of a pod set. When a set has more kinds of pods, each pod of a further
// kind gets a separate info.
const sharedInfos = 64

// valid reports whether the ids of an info have the same meaning in this snapshot. The columns of its request have: an info comes
// from the snapshot itself or from the snapshot that it was forked from, and a schema only grows.
func (s *Snapshot) valid(i *info) bool {
	return s.sets.is(i.set, i.setID) && (i.terms < 0 || s.terms.is(i.terms, i.termsID))
}

// countSame reports whether two valid infos count the same.
func countSame(a, b *info) bool {
	return a == b || a.set == b.set && a.terms == b.terms && a.cpu == b.cpu && a.memory == b.memory && a.ports == b.ports &&
		slices.Equal(a.request, b.request)
}

// requests writes what pod adds to a row into dst, and returns the row and the non-zero requests. A running pod counts with its
// in-place resize, pod overhead and pod-level resources.
func (s *Snapshot) requests(dst resources.Vector, pod *v1.Pod) (row resources.Vector, cpu, memory int64) {
	ok := false
	if plainpod.Is(pod) && !podinfo.Resized(pod) {
		n := s.schema.Len()
		dst = slices.Grow(dst[:0], n)[:n]
		clear(dst)
		cpu, memory, ok = plainpod.Add(dst, s.schema, pod)
	}
	if !ok {
		dst = s.requestsOfAny(dst[:0], pod)
		cpu, memory = overhead.NonZero(pod, s.release)
	}
	dst[resources.Pods] = 1
	for len(dst) > resources.Scalars && dst[len(dst)-1] == 0 {
		dst = dst[:len(dst)-1]
	}
	return dst, cpu, memory
}

// requestsOfAny appends the requests of a pod, plain or not. The schema is shared with forks until a new name needs a column.
func (s *Snapshot) requestsOfAny(dst resources.Vector, pod *v1.Pod) resources.Vector {
	o := overhead.Options{UseStatus: true, Release: s.release}
	if s.schemaOwn != s.own {
		overhead.Each(pod, o, func(name v1.ResourceName, _ int64) {
			if _, ok := s.schema.Column(name); !ok {
				s.ownSchema()
			}
		})
	}
	return overhead.AppendRequests(dst, s.schema, pod, o)
}

func (s *Snapshot) ownSchema() {
	if s.schemaOwn != s.own {
		s.schema, s.schemaOwn = s.schema.Clone(), s.own
	}
}

// holdsPorts reports whether a container or a sidecar has a host port. Plain init containers hold none while the pod runs.
func holdsPorts(pod *v1.Pod) bool {
	for i := range pod.Spec.Containers {
		if hasHostPort(&pod.Spec.Containers[i]) {
			return true
		}
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; overhead.IsSidecar(c) && hasHostPort(c) {
			return true
		}
	}
	return false
}

func hasHostPort(c *v1.Container) bool {
	for i := range c.Ports {
		if c.Ports[i].HostPort > 0 {
			return true
		}
	}
	return false
}

// internSet returns the id of the pod's set.
func (s *Snapshot) internSet(pod *v1.Pod) int32 {
	key := podkey.Flag(podkey.Text(s.key[:0], pod.Namespace), pod.DeletionTimestamp != nil)
	if len(pod.Labels) > 0 {
		key = podkey.Pairs(key, pod.Labels)
	}
	s.key = key
	if id := find(&s.sets.keys, key); id != gone {
		return id
	}
	s.sweep(&s.sets)
	id := s.sets.intern(s.own, key, pod)
	s.late = append(s.late, id)
	return id
}

// internTerms returns the id of the pod's term set, -1 when it has no inter-pod terms.
func (s *Snapshot) internTerms(pod *v1.Pod) int32 {
	a := pod.Spec.Affinity
	if a == nil || !hasTerms(a) {
		return -1
	}
	s.key = podkey.PodTerms(podkey.Text(s.key[:0], pod.Namespace), pod)
	if id := find(&s.terms.keys, s.key); id != gone {
		return id
	}
	s.sweep(&s.terms)
	return s.terms.intern(s.own, s.key, pod)
}

func hasTerms(a *v1.Affinity) bool {
	if p := a.PodAffinity; p != nil && len(p.RequiredDuringSchedulingIgnoredDuringExecution)+len(p.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
		return true
	}
	p := a.PodAntiAffinity
	return p != nil && len(p.RequiredDuringSchedulingIgnoredDuringExecution)+len(p.PreferredDuringSchedulingIgnoredDuringExecution) > 0
}

// sweepAt is the number of idle ids that the snapshot keeps for later pods.
const sweepAt = 1024

// sweep frees the ids of groups without pods when there are more such groups than groups with pods. An event in the change
// log makes readers begin again, because the freed ids get other meanings.
func (s *Snapshot) sweep(g *groups) {
	if g.idle() < max(sweepAt, g.live) {
		return
	}
	g.sweep(s.own)
	if g == &s.sets {
		s.postings, s.late = postings{}, s.late[:0]
		for id := range s.sets.n {
			if s.sets.at(int32(id)).id != nil {
				s.late = append(s.late, int32(id))
			}
		}
	}
	s.logAll()
}
