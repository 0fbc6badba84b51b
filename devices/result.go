package devices

import (
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/podinfo"
)

// results turns the choices of the search into allocations (rules U7.11 and U7.14).
func (s *Search) results() ([]resourcev1.AllocationResult, error) {
	out := make([]resourcev1.AllocationResult, len(s.claims))
	newID := s.options.ShareID
	if newID == nil {
		n := 0
		newID = func() types.UID {
			n++
			return types.UID("share-" + strconv.Itoa(n))
		}
	}
	for k := range s.choices {
		c := &s.choices[k]
		a := &out[c.claim].Devices
		a.Results = append(a.Results, c.result(newID))
	}
	for k := range s.claims {
		out[k].Devices.Config = s.config(k)
		selector, err := s.nodeSelector(k)
		if err != nil {
			return nil, err
		}
		out[k].NodeSelector = selector
	}
	return out, nil
}

func (c *choice) result(newID func() types.UID) resourcev1.DeviceRequestAllocationResult {
	d := c.device
	r := resourcev1.DeviceRequestAllocationResult{
		Request: c.request.result(), Driver: d.id.Driver, Pool: d.id.Pool, Device: d.id.Device,
		Tolerations:              slices.Clone(c.request.tolerations),
		BindingConditions:        slices.Clone(d.object.BindingConditions),
		BindingFailureConditions: slices.Clone(d.object.BindingFailureConditions),
	}
	if c.request.admin {
		yes := true
		r.AdminAccess = &yes
	}
	if c.shared {
		id := newID()
		r.ShareID = &id
		if len(c.consumed) > 0 {
			r.ConsumedCapacity = make(capacities, len(c.consumed))
			for name, amount := range c.consumed {
				r.ConsumedCapacity[name] = amount.DeepCopy()
			}
		}
	}
	return r
}

// config returns the configuration of the classes, then the configuration of the claim (rule U7.13).
func (s *Search) config(claim int) []resourcev1.DeviceAllocationConfiguration {
	c := &s.claims[claim]
	var out []resourcev1.DeviceAllocationConfiguration
	begin := map[string]int{} // configuration of a class
	for k := range c.asks {
		r := &c.asks[k].alternatives[s.chosen[claim][k]]
		configs := r.class.Spec.Config
		at, again := begin[r.class.Name]
		if !again {
			begin[r.class.Name] = len(out)
			for j := range configs {
				out = append(out, resourcev1.DeviceAllocationConfiguration{
					Source: resourcev1.AllocationConfigSourceClass, Requests: []string{r.result()}, DeviceConfiguration: *configs[j].DeviceConfiguration.DeepCopy(),
				})
			}
			continue
		}
		for j := range configs {
			out[at+j].Requests = append(out[at+j].Requests, r.result())
		}
	}
	for k := range out {
		out[k].Requests = s.namesOf(claim, out[k].Requests, len(out[k].Requests))
	}
	for k := range c.object.Spec.Devices.Config {
		config := &c.object.Spec.Devices.Config[k]
		n := s.holdsFor(claim, config.Requests)
		names := s.namesOf(claim, config.Requests, n)
		if s.options.ConfigOnce {
			n = min(n, 1)
		}
		for range n {
			out = append(out, resourcev1.DeviceAllocationConfiguration{
				Source: resourcev1.AllocationConfigSourceClaim, Requests: slices.Clone(names), DeviceConfiguration: *config.DeviceConfiguration.DeepCopy(),
			})
		}
	}
	return out
}

// holdsFor returns the number of requests of a claim that a config names; 1 for a config that names none. So often the config enters
// the allocation (quirk U10.8).
func (s *Search) holdsFor(claim int, names []string) int {
	if len(names) == 0 {
		return 1
	}
	n := 0
	for k := range s.claims[claim].asks {
		r := &s.claims[claim].asks[k].alternatives[s.chosen[claim][k]]
		if slices.Contains(names, r.base) || r.sub != "" && slices.Contains(names, r.result()) {
			n++
		}
	}
	return n
}

// namesOf returns the names of requests that a config has in the allocation. The config holds for n requests.
func (s *Search) namesOf(claim int, names []string, n int) []string {
	if n == len(s.claims[claim].asks) && leavesOutNames(s.options.Release) {
		return nil
	}
	return names
}

// nodeSelector returns the nodes on which a claim's allocation can be used; nil means all nodes (rule U7.14).
func (s *Search) nodeSelector(claim int) (*v1.NodeSelector, error) {
	term := v1.NodeSelectorTerm{}
	for k := range s.choices {
		c := &s.choices[k]
		if c.claim != claim {
			continue
		}
		d := c.device
		r := &d.slice.reach
		if d.slice.each {
			r = &d.reach
		}
		if r.kind == oneNode || d.object.BindsToNode != nil && *d.object.BindsToNode {
			return podinfo.OnlyNode(s.node.Name), nil
		}
		if r.kind != selected {
			continue
		}
		if n := len(r.object.NodeSelectorTerms); n != 1 {
			return nil, fatal("create NodeSelector for claim %s: unsupported ResourceSlice.NodeSelector with %d terms", s.claims[claim].object.Name, n)
		}
		t := &r.object.NodeSelectorTerms[0]
		term.MatchFields = addRequirements(term.MatchFields, t.MatchFields)
		term.MatchExpressions = addRequirements(term.MatchExpressions, t.MatchExpressions)
	}
	if len(term.MatchFields) == 0 && len(term.MatchExpressions) == 0 {
		return nil, nil
	}
	return &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}}, nil
}

// addRequirements appends those requirements of more that the list does not have. Requirements are equal when key, operator
// and set of values are equal.
func addRequirements(list, more []v1.NodeSelectorRequirement) []v1.NodeSelectorRequirement {
	for k := range more {
		if !slices.ContainsFunc(list, func(r v1.NodeSelectorRequirement) bool { return sameRequirement(&r, &more[k]) }) {
			list = append(list, *more[k].DeepCopy())
		}
	}
	return list
}

func sameRequirement(a, b *v1.NodeSelectorRequirement) bool {
	return a.Key == b.Key && a.Operator == b.Operator && within(a.Values, b.Values) && within(b.Values, a.Values)
}

func within(a, b []string) bool {
	for _, x := range a {
		if !slices.Contains(b, x) {
			return false
		}
	}
	return true
}
