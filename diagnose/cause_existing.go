package diagnose

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// existing returns the cause of the anti-affinity of running pods: the pods on the first nodes, their owner, and what they avoid.
func (x *sought) existing(slots []int, f failure) *Cause {
	key := ""
	var by []string
	for _, i := range slots[:min(mostNamed, len(slots))] {
		for _, text := range numbers(f, i) {
			domain, pods, ok := strings.Cut(text, ": the anti-affinity of ")
			of, _, _ := strings.Cut(domain, "=")
			if !ok || key != "" && of != key {
				continue
			}
			key = of
			for _, name := range strings.Split(strings.TrimSuffix(pods, " rejects the pod"), ", ") {
				if name = strings.TrimSuffix(name, " and others"); !slices.Contains(by, name) {
					by = append(by, name)
				}
			}
		}
	}
	if by == nil {
		return x.other(slots, f)
	}
	out := &Cause{Type: causeAntiAffinity, Field: "metadata.labels", Found: few(by)}
	who, avoids := out.Found, ""
	namespace, name, _ := strings.Cut(by[0], "/")
	if p := x.c.Pod(namespace, name); p != nil {
		if o := ownerOf(x.c, p); o.kind != "Pod" {
			who += " (" + o.String() + ")"
		}
		if t := x.avoiding(p, key); t != nil {
			avoids = ": it avoids pods with " + selectorText(t.LabelSelector)
		}
	}
	out.Text = fmt.Sprintf("the anti-affinity of %s by %s keeps it off %s%s", who, key, few(x.namesOf(slots)), avoids)
	return out
}

// avoiding returns the first term of a running pod's required anti-affinity by a topology key that selects the pod by its labels; nil for none.
func (x *sought) avoiding(p *v1.Pod, key string) *v1.PodAffinityTerm {
	_, terms := podAffinityOf(p)
	if terms[1].required == nil {
		return nil
	}
	list := *terms[1].required
	at := slices.IndexFunc(list, func(t v1.PodAffinityTerm) bool {
		return t.TopologyKey == key && selects(t.LabelSelector, x.pod.Labels)
	})
	if at < 0 {
		return nil
	}
	return &list[at]
}
