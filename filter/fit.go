package filter

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

// FitOptions are the arguments of the filter NodeResourcesFit. The zero value is v1.37's default.
type FitOptions struct {
	// IgnoredResources lists extended resources that the filter does not check. Other names in the list have no effect.
	IgnoredResources []string
	// IgnoredResourceGroups lists domains of extended resources that the filter does not check: "example.com" covers
	// "example.com/gpu" and not "sub.example.com/gpu".
	IgnoredResourceGroups []string
	// DeviceResources lists the extended resources that a DeviceClass of the cluster provides (spec.extendedResourceName).
	// The filter does not reject a node whose allocatable amount of such a resource is 0: DynamicResources decides about
	// that node.
	DeviceResources []string
	// Release is the release by whose rule pods that are being resized count (rules L4.1 to L4.3). Before v1.36
	// DeviceResources has no effect (rule L3.3).
	Release release.Version
}

// fit is a pod's side of NodeResourcesFit: what the pod asks for.
type fit struct {
	requests []fitRequest
	room     [usualRequests]fitRequest // of requests
	release  release.Version
}

// fitRequest is an amount of one resource that a pod asks for: thousandths of a core for cpu, units otherwise.
type fitRequest struct {
	resource v1.ResourceName
	value    int64
	device   bool   // whether a DeviceClass provides the resource
	reason   string // "Insufficient <name>"
}

// CompileFit compiles the filter NodeResourcesFit. It takes the requests of the pod's spec with overhead and pod-level
// resources. It leaves out amounts of 0 and ignored resources. The order is cpu, memory, ephemeral-storage, then the others
// by name. O(containers of the pod).
//
// On finds the columns of the requests in the rows of a cluster. When the schema gets a column for a resource that the pod
// asks for, call On again. O(resources of the pod).
func CompileFit(pod *v1.Pod, o FitOptions) Evaluator[Rows, FitState] { return compileFit(pod, o) }

func compileFit(pod *v1.Pod, o FitOptions) *fit {
	f := &fit{release: o.Release}
	f.requests = f.room[:0]
	overhead.Each(pod, overhead.Options{}, func(name v1.ResourceName, value int64) {
		if !checked(name, value, o) {
			return
		}
		f.requests = append(f.requests, fitRequest{
			resource: name, value: value,
			device: devicesServe(o.Release) && slices.Contains(o.DeviceResources, string(name)),
			reason: insufficient(name),
		})
	})
	return f
}

// usualRequests is how many resources most pods ask for at most: their requests need no memory of their own.
const usualRequests = 2

// insufficient returns the reason of a lack of a resource.
func insufficient(name v1.ResourceName) string {
	switch name {
	case v1.ResourceCPU:
		return "Insufficient cpu"
	case v1.ResourceMemory:
		return "Insufficient memory"
	}
	return "Insufficient " + string(name)
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

// FitState is NodeResourcesFit for one pod and one cluster. Every Check reads the rows again, so the [State] stays right while
// nodes and pods come and go.
//
// Check rejects a slot without room for one more pod, and a slot with less than a request: allocatable minus requested of
// any resource that the pod asks for. The verdict is a set of bits: bit 0 for the number of pods, bits 1 to 13 for the first
// 13 requests, bit 14 for all later requests (Partial). [resources.Unresolvable] is set when a request is more than the whole
// allocatable amount. The number of pods never sets it. A free slot has room for 0 pods. Check does not allocate.
//
// Reasons returns "Too many pods" first, then "Insufficient <resource>" in the order of the requests. Explain has the same
// order, and is empty when the pod fits.
//
// The [Trial] counts a pod with what it holds on a node ([overhead.Options.UseStatus]). It also has the method
// Apply(requests [resources.Vector], i int, n int32), for callers that know the requests of a pod in the columns of the schema:
// n pods with these requests come to slot i, or leave it when n is negative.
type FitState interface {
	TrialState[Insufficient]
	Detailer
	// CheckRow is Check for a caller that has the rows of slot i.
	CheckRow(i int, allocatable, requested resources.Vector) resources.Verdict
}

// Skip returns false: every pod takes the room of a pod.
func (f *fit) Skip() bool { return false }

func (f *fit) On(rows Rows) FitState { return f.on(rows) }

func (f *fit) on(rows Rows) *fitState {
	s := &fitState{fit: f, rows: rows}
	s.columns = s.room[:0]
	schema := rows.Schema()
	for k := range f.requests {
		c, ok := schema.Column(f.requests[k].resource)
		if !ok {
			c = nowhere
		}
		s.columns = append(s.columns, c)
	}
	return s
}

// nowhere is a column past the end of every row. No node offers a resource of that column, and no pod uses it.
const nowhere = 1 << 30

type fitState struct {
	fit     *fit
	rows    Rows
	columns []int
	room    [usualRequests]int // of columns
}

// Verdict bits of NodeResourcesFit.
const (
	fitPods  resources.Verdict = 1 << 0
	fitMore  resources.Verdict = 1 << 14
	fitNamed                   = 13
)

// Over is the state of the same pod over other rows, for a plan.
func (s *fitState) Over(rows Rows) FitState { return s.fit.on(rows) }

func (s *fitState) Name() string { return "NodeResourcesFit" }

func (s *fitState) Check(i int) resources.Verdict {
	return s.CheckRow(i, s.rows.Allocatable(i), s.rows.Requested(i))
}

func (s *fitState) CheckRow(_ int, a, u resources.Vector) resources.Verdict {
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

// lack returns the verdict bits of request k on a node whose allocatable amount of the resource is have.
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

func (s *fitState) Reasons(v resources.Verdict) []string {
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

// Partial reports whether a request after the 13th is among those that reject.
func (s *fitState) Partial(v resources.Verdict) bool { return v&fitMore != 0 }

func (s *fitState) ReasonsAt(i int) []string {
	a, u := s.rows.Allocatable(i), s.rows.Requested(i)
	var out []string
	if used, most := u.At(resources.Pods), a.At(resources.Pods); used+1 > most {
		out = append(out, tooManyPods)
	}
	for k := range s.columns {
		if s.insufficient(k, a, u) {
			if out == nil {
				out = make([]string, 0, len(s.columns)-k)
			}
			out = append(out, s.fit.requests[k].reason)
		}
	}
	return out
}

// insufficient reports whether the node with these rows lacks the request k.
func (s *fitState) insufficient(k int, allocatable, requested resources.Vector) bool {
	r, have := &s.fit.requests[k], allocatable.At(s.columns[k])
	return r.value > have-requested.At(s.columns[k]) && r.lack(k, have) != 0
}

// Insufficient is a resource that a node lacks for a pod.
type Insufficient struct {
	Resource v1.ResourceName
	// Reason is "Too many pods" or "Insufficient <resource>".
	Reason string
	// Requested is what the pod asks for, Used what the pods on the node ask for, and Capacity what the node allows in all:
	// thousandths of a core for cpu, a number of pods for pods, and units or bytes otherwise.
	Requested, Used, Capacity int64
	// Unresolvable reports that the pod does not fit on the empty node. It is never true for the resource pods.
	Unresolvable bool
}

func (s *fitState) Explain(i int) []Insufficient {
	a, u := s.rows.Allocatable(i), s.rows.Requested(i)
	var out []Insufficient
	if used, most := u.At(resources.Pods), a.At(resources.Pods); used+1 > most {
		out = append(out, Insufficient{v1.ResourcePods, tooManyPods, 1, used, most, false})
	}
	for k, c := range s.columns {
		if s.insufficient(k, a, u) {
			r, have := &s.fit.requests[k], a.At(c)
			out = append(out, Insufficient{r.resource, r.reason, r.value, u.At(c), have, r.value > have})
		}
	}
	return out
}

// Lacks returns what a node that runs the given pods lacks for the pod, in the order of FitState.Explain. The result is
// empty when the pod fits. Running pods count with what they hold ([overhead.Options.UseStatus]). A nil list of running pods means no
// pods. O(containers of all pods).
func Lacks(pod *v1.Pod, node *v1.Node, running []*v1.Pod, o FitOptions) []Insufficient {
	schema := new(resources.Schema)
	row := oneRow{schema: schema, allocatable: resources.FromList(schema, node.Status.Allocatable)}
	for _, p := range running {
		r := overhead.AppendRequests(nil, schema, p, held(o.Release))
		row.requested = row.requested.Grow(max(len(r), resources.Scalars))
		row.requested.Add(r)
		row.requested[resources.Pods]++
	}
	return compileFit(pod, o).on(&row).Explain(0)
}

// oneRow is a cluster of one slot with its Rows.
type oneRow struct {
	schema                 *resources.Schema
	allocatable, requested resources.Vector
}

func (r *oneRow) Schema() *resources.Schema        { return r.schema }
func (r *oneRow) Allocatable(int) resources.Vector { return r.allocatable }
func (r *oneRow) Requested(int) resources.Vector   { return r.requested }
