package rules

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/resources"
)

// ManagedResource is a resource that an extender manages.
type ManagedResource struct {
	Name               string `json:"name"`
	IgnoredByScheduler bool   `json:"ignoredByScheduler,omitempty"` // NodeResourcesFit ignores the resource
}

// Extender is the part of an extender's configuration that decides when it is asked and how its answer counts.
type Extender struct {
	FilterVerb       string            `json:"filterVerb,omitempty"` // empty: the extender does not filter; the other verbs likewise
	PreemptVerb      string            `json:"preemptVerb,omitempty"`
	PrioritizeVerb   string            `json:"prioritizeVerb,omitempty"`
	BindVerb         string            `json:"bindVerb,omitempty"`
	Weight           int64             `json:"weight,omitempty"`
	ManagedResources []ManagedResource `json:"managedResources,omitempty"` // empty: the extender is asked about every pod
	Ignorable        bool              `json:"ignorable,omitempty"`        // a failure of the extender is ignored
}

// Interested reports whether the extender is asked about the pod (rule C10.1): it manages no particular resources, or a
// container or init container names one of them in its requests or limits, whatever the amount.
func (e Extender) Interested(pod *v1.Pod) bool {
	if len(e.ManagedResources) == 0 {
		return true
	}
	if pod == nil {
		return false
	}
	for _, list := range [...][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if e.manages(list[i].Resources.Requests) || e.manages(list[i].Resources.Limits) {
				return true
			}
		}
	}
	return false
}

func (e Extender) manages(list v1.ResourceList) bool {
	for _, m := range e.ManagedResources {
		if _, ok := list[v1.ResourceName(m.Name)]; ok {
			return true
		}
	}
	return false
}

// Order returns the positions of the extenders in the order in which they are asked: the ignorable ones after the others
// (rule C10.2).
func Order(extenders []Extender) []int {
	order := make([]int, 0, len(extenders))
	for _, ignorable := range [...]bool{false, true} {
		for i, x := range extenders {
			if x.Ignorable == ignorable {
				order = append(order, i)
			}
		}
	}
	return order
}

// IgnoredByScheduler returns the managed resources that only the extenders check (rule C10.6). When there are any, they
// replace FitArgs.IgnoredResources of every profile.
func IgnoredByScheduler(extenders []Extender) []string {
	var list []string
	for _, e := range extenders {
		for _, m := range e.ManagedResources {
			if m.IgnoredByScheduler {
				list = append(list, m.Name)
			}
		}
	}
	return list
}

// ValidateExtenders returns v1.37's errors about the extenders of a configuration (rule C10.4). path is the path of the
// list.
func ValidateExtenders(extenders []Extender, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	binders := 0
	seen := map[string]bool{}
	for i, e := range extenders {
		p := path.Index(i)
		if e.PrioritizeVerb != "" && e.Weight <= 0 {
			errs = append(errs, field.Invalid(p.Child("weight"), e.Weight, "must have a positive weight applied to it"))
		}
		if e.BindVerb != "" {
			binders++
		}
		for j, m := range e.ManagedResources {
			mp := p.Child("managedResources").Index(j).Child("name")
			if malformed := qualified(m.Name, mp); len(malformed) > 0 {
				errs = append(errs, malformed...)
			} else if !resources.IsExtended(v1.ResourceName(m.Name)) {
				errs = append(errs, field.Invalid(mp, m.Name, "is an invalid extended resource name"))
			}
			if seen[m.Name] {
				errs = append(errs, field.Invalid(mp, m.Name, "duplicate extender managed resource name"))
			}
			seen[m.Name] = true
		}
	}
	if binders > 1 {
		errs = append(errs, field.Invalid(path, fmt.Sprintf("found %d extenders implementing bind", binders), "only one extender can implement bind"))
	}
	return errs
}

// Filtered is the result of an extender's filter: the nodes that stay, in the extender's order, and why the others left.
type Filtered struct {
	Nodes        []string
	Unresolvable map[string]string // nodes on which preemption does not help
	Failed       map[string]string
}

// FilterAnswer is the answer of an extender to filter. Nil Nodes or NodeNames were missing in the answer.
type FilterAnswer struct {
	NodeNames                  []string
	Nodes                      []string // the names of the node objects in the answer
	FailedNodes                map[string]string
	FailedAndUnresolvableNodes map[string]string
}

// ApplyFilter applies the answer of the extender at url to the nodes of the request (rule C10.5). The names count when the
// extender is cache-capable and sent names, else the objects count, else no node stays. A name that was not in the request
// is an error. Nodes that are only missing from the answer have no reason. v1.37 checks only names. In the other form it
// continues with the extender's node objects and loses requests, pods and images. ApplyFilter returns names in both forms.
func ApplyFilter(url string, cacheCapable CacheCapability, asked []string, a FilterAnswer) (Filtered, error) {
	nodes := a.Nodes
	if cacheCapable == CacheCapable && a.NodeNames != nil {
		nodes = a.NodeNames
	}
	known := make(map[string]bool, len(asked))
	for _, name := range asked {
		known[name] = true
	}
	f := Filtered{Unresolvable: map[string]string{}, Failed: map[string]string{}}
	for _, name := range nodes {
		if !known[name] {
			return Filtered{}, fmt.Errorf("extender %q claims a filtered node %q which is not found in the input node list", url, name)
		}
		f.Nodes = append(f.Nodes, name)
	}
	for name, text := range a.FailedAndUnresolvableNodes {
		f.Unresolvable[name] = text
	}
	for name, text := range a.FailedNodes {
		if _, ok := f.Unresolvable[name]; !ok {
			f.Failed[name] = text
		}
	}
	return f, nil
}

// CacheCapability says whether an extender keeps the nodes itself. If so, names are exchanged and not objects.
type CacheCapability int

// The two forms of exchange.
const (
	NotCacheCapable CacheCapability = iota // node objects
	CacheCapable                           // node names (nodeCacheCapable)
)

// URL returns the URL of a verb: the prefix without a slash at its end, a slash, the verb.
func URL(prefix, verb string) string { return strings.TrimRight(prefix, "/") + "/" + verb }

// qualified returns the errors of a name that is not a qualified name.
func qualified(name string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, text := range validation.IsQualifiedName(name) {
		errs = append(errs, field.Invalid(path, name, text))
	}
	return errs
}
