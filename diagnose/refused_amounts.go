package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
)

// This file is about the amounts with which a quota or a LimitRange takes pods that it refuses as they are.

// ofLimitRange are the texts about an amount that a LimitRange does not take. One text may have several in brackets.
var ofLimitRange = regexp.MustCompile(`(minimum|maximum) (\S+) usage per (Container|Pod) is ([^\s,]+?)(?:, but (request|limit) is ([^\s,\]]+)|\.  No (request|limit) is specified)`)

// amountIn is a request or a limit of a container.
type amountIn struct {
	path string // of the container in the pod
	in   string // the name of the container
	name v1.ResourceName
	kind string // requests, or limits
	of   func(p *v1.Pod) *v1.ResourceRequirements
}

func (a amountIn) String() string { return a.path + ".resources." + a.kind + "." + string(a.name) }

// list returns the requests or the limits of the container.
func (a amountIn) list(p *v1.Pod) *v1.ResourceList {
	if a.kind == "limits" {
		return &a.of(p).Limits
	}
	return &a.of(p).Requests
}

// set gives the container the amount.
func (a amountIn) set(p *v1.Pod, q resource.Quantity) {
	list := a.list(p)
	if *list == nil {
		*list = v1.ResourceList{}
	}
	(*list)[a.name] = q
}

// amountsOf returns the places of an amount in the containers of a pod.
func amountsOf(p *v1.Pod, kind string, name v1.ResourceName) (out []amountIn) {
	for i, c := range p.Spec.Containers {
		out = append(out, amountIn{fmt.Sprintf("spec.containers[%d]", i), c.Name, name, kind, func(p *v1.Pod) *v1.ResourceRequirements { return &p.Spec.Containers[i].Resources }})
	}
	for i, c := range p.Spec.InitContainers {
		out = append(out, amountIn{fmt.Sprintf("spec.initContainers[%d]", i), c.Name, name, kind, func(p *v1.Pod) *v1.ResourceRequirements { return &p.Spec.InitContainers[i].Resources }})
	}
	return out
}

// amountChange returns the change of an amount of a container to a value.
func (x *refused) amountChange(kind Kind, a amountIn, from, bound string, to resource.Quantity) Change {
	c := x.change(kind, a.String(), from, to.String())
	c.bound, c.edit = bound, func(p *v1.Pod, _ int64) { a.set(p, to.DeepCopy()) }
	return c
}

// resourceOf returns the resource that a name of a quota counts, and whether the quota counts requests or limits of it; "" for a name that counts
// objects.
func resourceOf(name string) (of v1.ResourceName, kind string) {
	if limit, ok := strings.CutPrefix(name, "limits."); ok {
		return v1.ResourceName(limit), "limits"
	}
	if request, ok := strings.CutPrefix(name, v1.DefaultResourceRequestsPrefix); ok {
		return v1.ResourceName(request), "requests"
	}
	switch of = v1.ResourceName(name); of {
	case v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage:
		return of, "requests"
	}
	return "", ""
}

// mostParts is in how many parts the largest amounts are divided to find those with which all pods get nodes.
const mostParts = 64

// demanded adds the remedy of the requests and limits that a quota demands: "limits.cpu for: a,b; memory for: b". They are as large as the quota and
// the nodes take for all pods of the owner, so the input must have the quota.
func (x *refused) demanded(text string) {
	if x.in.Accept == nil || x.accepts(nil) {
		return
	}
	var want []amountIn
	for part := range strings.SplitSeq(text, "; ") {
		name, list, _ := strings.Cut(part, " for: ")
		of, kind := resourceOf(name)
		if of == "" {
			return
		}
		for _, a := range amountsOf(x.pods[0], kind, of) {
			_, has := (*a.list(x.pods[0]))[of]
			if !has && slices.Contains(strings.Split(list, ","), a.in) {
				want = append(want, a)
			}
		}
	}
	most := map[v1.ResourceName]int64{}
	changes := func(part int64) (out []Change) {
		for _, a := range want {
			out = append(out, x.amountChange(SetRequest, a, "", "at most", rounded(a.name, max(1, most[a.name]*part/mostParts))))
		}
		return out
	}
	for _, a := range want {
		most[a.name] = 1
	}
	for name := range most {
		most[name] = largestOf(x.largest(name), func(v int64) bool {
			most[name] = v
			return x.accepts(changes(mostParts))
		})
	}
	run := func(part int64) int {
		list := changes(part)
		if !x.accepts(list) {
			return 0
		}
		return x.begin(list).prove(list).run
	}
	if most := run(1); most > 0 {
		x.goes(changes(largestOf(mostParts, func(part int64) bool { return run(part) == most })))
	}
}

// largestOf returns the largest number up to high for which ok says yes, when it says so of all smaller ones; 0 for none.
func largestOf(high int64, ok func(v int64) bool) int64 {
	if high <= 0 || ok(high) {
		return max(high, 0)
	}
	low := int64(0)
	for high-low > 1 {
		if middle := low + (high-low)/2; ok(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// largest returns the most of a resource that a node offers.
func (x *refused) largest(name v1.ResourceName) (most int64) {
	for _, i := range x.in.Snapshot.Order() {
		most = max(most, resources.Value(name, x.in.Snapshot.Node(int(i)).Status.Allocatable[name]))
	}
	return most
}

// rounded returns an amount, rounded down to one that people write: cpu to two digits, bytes to Mi. The lint of a request that no node has
// keeps all digits of cpu, because it names the largest amount that fits.
func rounded(name v1.ResourceName, n int64) resource.Quantity {
	switch {
	case name == v1.ResourceCPU && n >= 1000:
		n -= n % 100
	case name == v1.ResourceCPU && n >= 100:
		n -= n % 10
	case (name == v1.ResourceMemory || name == v1.ResourceEphemeralStorage) && n >= 1<<20:
		n -= n % (1 << 20)
	}
	return quantity(name, n)
}

// shortOf is an amount of which a quota has too little left for one pod.
type shortOf struct {
	name        string // as the quota has it
	asked, left resource.Quantity
}

// lowered adds the remedy of amounts of which the quota has enough left for all the pods. No amount goes below half of what a pod asks for.
func (x *refused) lowered(list []shortOf) {
	var changes []Change
	for _, s := range list {
		name, kind := resourceOf(s.name)
		if name == "" {
			return
		}
		asked := resources.Value(name, s.asked)
		each := rounded(name, resources.Value(name, s.left)/int64(x.count()))
		to := resources.Value(name, each)
		if 2*to < asked {
			return
		}
		path := kind + "." + string(name)
		beside := max(0, asked-x.asks(x.pods[0], name)) // what admission adds, such as the overhead of a RuntimeClass
		c := x.change(LowerRequest, path, s.asked.String(), each.String())
		c.edit = func(p *v1.Pod, _ int64) {
			if kind == "limits" {
				lowerLimits(p, name, asked, to)
				return
			}
			fromLimits(p, name)
			if own := x.asks(p, name); own > to-beside {
				shrink(p, name, own, to-beside)
			}
		}
		changes = append(changes, c)
	}
	x.tries(changes)
}

// asks returns what a pod asks for, as far as it says so: a limit without a request is a request too.
func (x *refused) asks(p *v1.Pod, name v1.ResourceName) int64 {
	p = p.DeepCopy()
	fromLimits(p, name)
	return resources.Value(name, overhead.Requests(p, overhead.Options{})[name])
}

// fromLimits makes a request of each limit without one, as the API server does.
func fromLimits(p *v1.Pod, name v1.ResourceName) {
	for _, a := range amountsOf(p, "requests", name) {
		if _, has := (*a.list(p))[name]; !has {
			if q, is := a.of(p).Limits[name]; is {
				a.set(p, q)
			}
		}
	}
}

// lowerLimits lowers the limits of a pod in proportion, and requests that are larger than the limit then.
func lowerLimits(p *v1.Pod, name v1.ResourceName, from, to int64) {
	total := int64(0)
	for _, a := range amountsOf(p, "limits", name) {
		total += resources.Value(name, (*a.list(p))[name])
	}
	if total <= to {
		return // it is lowered
	}
	for _, a := range amountsOf(p, "limits", name) {
		q, is := (*a.list(p))[name]
		if !is {
			continue
		}
		v := int64(float64(to) / float64(from) * float64(resources.Value(name, q)))
		a.set(p, quantity(name, v))
		if request, has := a.of(p).Requests[name]; has && resources.Value(name, request) > v {
			a.of(p).Requests[name] = quantity(name, v)
		}
	}
}

// ofLimitRange fills in the cause of amounts that a LimitRange does not take. The remedy is the nearest amounts that it takes, as far as no request goes
// below half.
func (x *refused) ofLimitRange(cause *Cause, text string) {
	cause.Text = "a LimitRange refuses it: " + strings.Trim(text, "[]")
	cause.Field = x.owner.path + "spec.containers"
	var changes []Change
	for k, m := range ofLimitRange.FindAllStringSubmatch(text, -1) {
		name, kind, bound := v1.ResourceName(m[2]), m[5]+m[7]+"s", m[4]
		if k == 0 {
			cause.Wanted, cause.Found = m[6], m[1]+" "+bound
		}
		q, err := resource.ParseQuantity(bound)
		if err != nil || m[3] == "Pod" && len(x.pods[0].Spec.Containers)+len(x.pods[0].Spec.InitContainers) > 1 {
			return
		}
		changes = append(changes, x.toBound(m[1] == "maximum", kind, name, q)...)
	}
	if len(changes) > 0 {
		x.tries(changes)
	}
}

// toBound returns the changes that set an amount to a bound: an amount that is beyond the bound, and one that a container does not have. It returns
// none when a request or a limit would go below half.
func (x *refused) toBound(most bool, kind string, name v1.ResourceName, bound resource.Quantity) (out []Change) {
	words := map[bool]string{true: "at most", false: "at least"}[most]
	p := x.pods[0]
	for _, a := range amountsOf(p, kind, name) {
		q, has := (*a.list(p))[name]
		_, limited := a.of(p).Limits[name] // the API server makes a request of a limit
		switch {
		case !has && !(kind == "requests" && limited):
			out = append(out, x.amountChange(SetRequest, a, "", words, bound))
		case !has:
		case most && q.Cmp(bound) > 0:
			if twice := resource.NewMilliQuantity(2*bound.MilliValue(), resource.DecimalSI); twice.Cmp(q) < 0 {
				return nil
			}
			out = append(out, x.amountChange(LowerRequest, a, q.String(), "", bound))
			if request, is := a.of(p).Requests[name]; is && kind == "limits" && request.Cmp(bound) > 0 {
				a.kind = "requests"
				out = append(out, x.amountChange(LowerRequest, a, request.String(), "", bound))
			}
		case !most && q.Cmp(bound) < 0:
			out = append(out, x.amountChange(SetRequest, a, q.String(), words, bound))
		}
	}
	return out
}
