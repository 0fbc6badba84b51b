package filter

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
)

// FitOptions are the arguments of the filter NodeResourcesFit. The zero value is v1.36's default.
type FitOptions struct {
	// IgnoredResources lists extended resources that are not checked. Other names here have no effect.
	IgnoredResources []string
	// IgnoredResourceGroups lists domains of extended resources that are not checked: "example.com" covers
	// "example.com/gpu" and not "sub.example.com/gpu".
	IgnoredResourceGroups []string
	// DeviceResources lists the extended resources that a DeviceClass of the cluster provides
	// (spec.extendedResourceName). On a node that offers none of such a resource itself it is left to DynamicResources.
	DeviceResources []string
}

// Fit is a pod's side of NodeResourcesFit: what it asks for, compiled once. It is immutable.
type Fit struct {
	requests []fitRequest
}

// fitRequest is an amount of one resource that a pod asks for: thousandths of a core for cpu, units otherwise.
type fitRequest struct {
	resource v1.ResourceName
	value    int64
	device   bool   // a DeviceClass provides the resource
	reason   string // "Insufficient <name>"
}

// CompileFit works out what is checked for the pod: the requests of its spec (overhead and pod-level resources included),
// without zero amounts, without resources that the scheduler does not know and without ignored ones, in the order cpu,
// memory, ephemeral-storage, others by name.
func CompileFit(pod *v1.Pod, o FitOptions) *Fit {
	f := &Fit{}
	overhead.Each(pod, overhead.Options{}, func(name v1.ResourceName, value int64) {
		if !checked(name, value, o) {
			return
		}
		f.requests = append(f.requests, fitRequest{
			resource: name, value: value,
			device: slices.Contains(o.DeviceResources, string(name)),
			reason: "Insufficient " + string(name),
		})
	})
	return f
}

func checked(name v1.ResourceName, value int64, o FitOptions) bool {
	switch name {
	case v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage:
		return value > 0
	}
	if value == 0 {
		return false
	}
	if !resources.IsExtended(name) {
		return true
	}
	group, _, _ := strings.Cut(string(name), "/")
	return !slices.Contains(o.IgnoredResources, string(name)) && !slices.Contains(o.IgnoredResourceGroups, group)
}

// On finds the columns of the requests in the rows of a cluster. Every Check reads the rows again, so the State stays right
// while nodes and pods come and go. When the schema gets a column for a resource that the pod asks for, call On again.
// O(resources of the pod).
func (f *Fit) On(rows Rows) *FitState {
	s := &FitState{fit: f, rows: rows, columns: make([]int, len(f.requests))}
	schema := rows.Schema()
	for k, r := range f.requests {
		c, ok := schema.Column(r.resource)
		if !ok {
			c = nowhere
		}
		s.columns[k] = c
	}
	return s
}

// nowhere is past the end of every row: no node offers the resource, and none has it in use.
const nowhere = 1 << 30

// FitState is NodeResourcesFit for one pod and one cluster.
type FitState struct {
	fit     *Fit
	rows    Rows
	columns []int
}

// Verdict bits of NodeResourcesFit, beside Unresolvable: bit 0 is "Too many pods", bits 1 to 13 stand for the first 13
// requests, bit 14 for any later one. A verdict with bit 14 is partial: ReasonsAt says which.
const (
	fitPods  resources.Verdict = 1 << 0
	fitMore  resources.Verdict = 1 << 14
	fitNamed                   = 13
)

// Name returns "NodeResourcesFit".
func (s *FitState) Name() string { return "NodeResourcesFit" }

// Check reports what slot i lacks: room for one more pod, and for each request P more than allocatable less requested.
// Unresolvable is set when some request is more than all that is allocatable; a lack of pods never is. A resource that
// the pod does not ask for never rejects. The verdict is a set of bits: 0 for the number of pods, 1 to 13 for the first 13
// of Fit.Requests, 14 for any of the others (see Partial). A free slot has too few pods. No allocation.
func (s *FitState) Check(i int) resources.Verdict {
	return s.CheckOf(s.rows.Allocatable(i), s.rows.Requested(i))
}

// CheckOf is Check for a caller who has the rows of a slot at hand: what it offers and what its pods ask for.
func (s *FitState) CheckOf(a, u resources.Vector) resources.Verdict {
	var v resources.Verdict
	if u.At(resources.Pods)+1 > a.At(resources.Pods) {
		v = fitPods
	}
	for k, c := range s.columns {
		r := &s.fit.requests[k]
		if have := a.At(c); r.value > have-u.At(c) {
			v |= r.lack(k, have)
		}
	}
	return v
}

// lack returns the verdict bits of request k, of which have is allocatable in all.
func (r *fitRequest) lack(k int, have int64) resources.Verdict {
	if r.device && have == 0 {
		return 0
	}
	bit := fitMore
	if k < fitNamed {
		bit = 1 << (k + 1)
	}
	if r.value > have {
		bit |= resources.Unresolvable
	}
	return bit
}

// Reasons returns the texts of a verdict: "Too many pods" first, then "Insufficient <resource>" in the order of
// Fit.Requests. Of a partial verdict it names those that it can.
func (s *FitState) Reasons(v resources.Verdict) []string {
	var out []string
	if v&fitPods != 0 {
		out = append(out, tooManyPods)
	}
	for k := range min(len(s.fit.requests), fitNamed) {
		if v&(1<<(k+1)) != 0 {
			out = append(out, s.fit.requests[k].reason)
		}
	}
	return out
}

const tooManyPods = "Too many pods"

// Partial reports whether a verdict concerns requests after the 13th, which it does not name.
func (s *FitState) Partial(v resources.Verdict) bool { return v&fitMore != 0 }

// ReasonsAt returns the texts of slot i, of all requests.
func (s *FitState) ReasonsAt(i int) []string {
	var out []string
	for _, x := range s.Explain(i) {
		out = append(out, x.Reason)
	}
	return out
}

// Insufficient is one resource that a node lacks for a pod.
type Insufficient struct {
	Resource v1.ResourceName
	// Reason is "Too many pods" or "Insufficient <resource>".
	Reason string
	// Requested is what the pod asks for, Used what the pods there ask for, Capacity what the node allows in all:
	// thousandths for cpu, pieces for pods, units otherwise.
	Requested, Used, Capacity int64
	// Unresolvable says that the pod would not fit on the empty node. It is never set for pods.
	Unresolvable bool
}

// Explain returns what slot i lacks, in the order of Reasons; none when the pod fits.
func (s *FitState) Explain(i int) []Insufficient {
	a, u := s.rows.Allocatable(i), s.rows.Requested(i)
	var out []Insufficient
	if used, most := u.At(resources.Pods), a.At(resources.Pods); used+1 > most {
		out = append(out, Insufficient{v1.ResourcePods, tooManyPods, 1, used, most, false})
	}
	for k, c := range s.columns {
		r := &s.fit.requests[k]
		have, used := a.At(c), u.At(c)
		if r.value > have-used && r.lack(k, have) != 0 {
			out = append(out, Insufficient{r.resource, r.reason, r.value, used, have, r.value > have})
		}
	}
	return out
}

// Fits reports whether the pod fits on a node that runs the given pods. Running pods count with what they hold
// (overhead.Options.UseStatus). Nil running means no pods.
func Fits(pod *v1.Pod, node *v1.Node, running []*v1.Pod, o FitOptions) bool {
	return len(Lacks(pod, node, running, o)) == 0
}

// Lacks returns what a node that runs the given pods lacks for the pod, in the order of FitState.Reasons; none when the pod
// fits. Running pods count as in Fits.
func Lacks(pod *v1.Pod, node *v1.Node, running []*v1.Pod, o FitOptions) []Insufficient {
	schema := new(resources.Schema)
	row := oneRow{schema: schema, allocatable: resources.FromList(schema, node.Status.Allocatable)}
	for _, p := range running {
		r := overhead.AppendRequests(nil, schema, p, overhead.Options{UseStatus: true})
		row.requested = row.requested.Grow(max(len(r), resources.Scalars))
		row.requested.Add(r)
		row.requested[resources.Pods]++
	}
	return CompileFit(pod, o).On(&row).Explain(0)
}

// oneRow is Rows of a single slot.
type oneRow struct {
	schema                 *resources.Schema
	allocatable, requested resources.Vector
}

func (r *oneRow) Schema() *resources.Schema        { return r.schema }
func (r *oneRow) Allocatable(int) resources.Vector { return r.allocatable }
func (r *oneRow) Requested(int) resources.Vector   { return r.requested }
