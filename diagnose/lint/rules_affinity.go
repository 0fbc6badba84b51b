package lint

import (
	"fmt"
	"reflect"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/internal/podinfo"
)

func requiredWith(p *v1.Pod) []v1.PodAffinityTerm {
	with, _ := podinfo.PodAffinity(p)
	if with == nil {
		return nil
	}
	return with.RequiredDuringSchedulingIgnoredDuringExecution
}

func requiredApart(p *v1.Pod) []v1.PodAffinityTerm {
	_, apart := podinfo.PodAffinity(p)
	if apart == nil {
		return nil
	}
	return apart.RequiredDuringSchedulingIgnoredDuringExecution
}

const (
	withPath  = ".affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[%d]"
	apartPath = ".affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[%d]"
)

// eachRequired calls f for each required term of affinity, then of anti-affinity.
func eachRequired(w *work, f func(path string, t v1.PodAffinityTerm)) {
	for i, t := range requiredWith(w.pod) {
		f(w.path+fmt.Sprintf(withPath, i), t)
	}
	for i, t := range requiredApart(w.pod) {
		f(w.path+fmt.Sprintf(apartPath, i), t)
	}
}

// self reports whether a pod matches its own term.
func (c *checker) self(p *v1.Pod, t v1.PodAffinityTerm) bool {
	return c.reaches(p, t, p.Namespace, p.Labels)
}

// found returns the object of a pod of others that a term selects, "" for none.
func (c *checker) found(w *work, t v1.PodAffinityTerm) (object string) {
	selector, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
	if err != nil { // it selects nothing
		return ""
	}
	c.others(w, func(o, ns string, set map[string]string) {
		if object == "" && selector.Matches(labels.Set(set)) && c.inNamespaces(w.pod, t, ns) {
			object = o
		}
	})
	return object
}

var affinityRules = []Rule{
	{ID: "affinity-nobody", Severity: Error, Cluster: true, Summary: "required pod affinity selects no pod that runs or is among the manifests, and not the pod itself", work: func(c *checker, w *work) {
		for i, t := range requiredWith(w.pod) {
			if !c.self(w.pod, t) && c.found(w, t) == "" {
				c.prove(w, w.path+fmt.Sprintf(withPath, i), "mend the selector or the namespaces, or make the term a preference", "no pod matches, and the pod does not match its own term, so that nobody can be the first")
			}
		}
	}},
	{ID: "affinity-unknown", Severity: Warning, Summary: "required pod affinity selects no pod of the manifests, and no cluster is given", work: func(c *checker, w *work) {
		for i, t := range requiredWith(w.pod) {
			if len(c.nodes) == 0 && !c.self(w.pod, t) && c.found(w, t) == "" {
				c.report(w.path+fmt.Sprintf(withPath, i), "check that such pods run, or make the term a preference", "no manifest makes a pod that matches")
			}
		}
	}},
	{ID: "affinity-contradiction", Severity: Error, Summary: "required affinity and required anti-affinity have the same selector and topology key", work: func(c *checker, w *work) {
		for i, t := range requiredWith(w.pod) {
			for k, a := range requiredApart(w.pod) {
				if t.TopologyKey == a.TopologyKey && sameSelection(t, a) && (!c.self(w.pod, t) || w.replicas > 1) {
					c.prove(w, w.path+fmt.Sprintf(withPath, i), fmt.Sprintf("drop this term or podAntiAffinity term %d", k), "a pod must be beside the selected pods and away from them in the same %s", t.TopologyKey)
				}
			}
		}
	}},
	{ID: "affinity-key-missing", Severity: Error, Cluster: true, Summary: "no node has the topology key of required pod affinity", work: func(c *checker, w *work) {
		for i, t := range requiredWith(w.pod) {
			if len(c.valuesOf(t.TopologyKey)) == 0 {
				c.prove(w, w.path+fmt.Sprintf(withPath, i)+".topologyKey", c.termKey(w, i, requiredWith), "no node has the label %s%s", t.TopologyKey, c.nearKey(t.TopologyKey))
			}
		}
	}},
	{ID: "anti-affinity-key-missing", Severity: Warning, Cluster: true, Summary: "no node has the topology key of required anti-affinity, which then keeps nothing apart", work: func(c *checker, w *work) {
		for i, t := range requiredApart(w.pod) {
			if len(c.valuesOf(t.TopologyKey)) == 0 {
				c.report(w.path+fmt.Sprintf(apartPath, i)+".topologyKey", c.termKey(w, i, requiredApart), "no node has the label %s%s", t.TopologyKey, c.nearKey(t.TopologyKey))
			}
		}
	}},
	{ID: "anti-affinity-domains", Severity: Error, Cluster: true, Summary: "anti-affinity to itself with more replicas than domains", work: func(c *checker, w *work) {
		for i, t := range requiredApart(w.pod) {
			reach := c.reachable(w)
			n := len(domains(reach, t.TopologyKey))
			for _, node := range reach { // a node without the key takes any number
				if _, ok := node.Labels[t.TopologyKey]; !ok {
					n = w.replicas
				}
			}
			if c.self(w.pod, t) && n > 0 && w.replicas > n {
				others := ", a preference, or a spread constraint"
				hard(w, func(_ int, s v1.TopologySpreadConstraint) {
					if s.TopologyKey == t.TopologyKey { // the API server takes one
						others = ", or a preference"
					}
				})
				c.prove(w, w.path+fmt.Sprintf(apartPath, i), "at most "+amount(n, "replica", "replicas")+others, "%d replicas keep apart by %s, of which the pod can reach %d", w.replicas, t.TopologyKey, n)
			}
		}
	}},
	{ID: "anti-affinity-rollout", Severity: Warning, Cluster: true, Summary: "anti-affinity to itself leaves no domain for the new pod of a rollout", work: func(c *checker, w *work) {
		for i, t := range requiredApart(w.pod) {
			n := len(domains(c.reachable(w), t.TopologyKey))
			if c.self(w.pod, t) && w.surge > 0 && w.replicas <= n && w.replicas+1 > n && len(t.MatchLabelKeys) == 0 {
				c.report(w.path+fmt.Sprintf(apartPath, i), "maxUnavailable 1, matchLabelKeys: [pod-template-hash], or one domain more", "%d replicas fill all %d domains, and a rollout must start a new pod before an old one stops", w.replicas, n)
			}
		}
	}},
	{ID: "affinity-one-domain", Severity: Error, Cluster: true, Summary: "required affinity to itself by hostname, and no node has room for all replicas", work: func(c *checker, w *work) {
		for i, t := range requiredWith(w.pod) {
			if t.TopologyKey != v1.LabelHostname || !c.self(w.pod, t) || w.replicas < 2 {
				continue
			}
			if most := c.largestTimes(w); most > 0 && most < w.replicas {
				c.prove(w, w.path+fmt.Sprintf(withPath, i), "use a zone as topologyKey, or make the term a preference", "all %d replicas must share one node, and the largest holds %d", w.replicas, most)
			}
		}
	}},
	{ID: "affinity-namespaces", Severity: Warning, Cluster: true, Summary: "the namespaces of an affinity term do not exist", work: func(c *checker, w *work) {
		eachRequired(w, func(path string, t v1.PodAffinityTerm) {
			if len(t.Namespaces) == 0 && t.NamespaceSelector == nil || len(c.in.Cluster.Namespaces) == 0 {
				return
			}
			for _, n := range c.in.Cluster.Namespaces {
				if c.inNamespaces(w.pod, t, n.Name) {
					return
				}
			}
			c.report(path, "mend namespaces or namespaceSelector", "no namespace of the cluster is selected")
		})
	}},
	{ID: "affinity-selects-nobody", Severity: Warning, Summary: "an affinity term without a label selector selects no pod", work: func(c *checker, w *work) {
		eachRequired(w, func(path string, t v1.PodAffinityTerm) {
			if t.LabelSelector == nil {
				c.report(path, "write a labelSelector; {} selects every pod", "a term without labelSelector matches nothing")
			}
		})
	}},
	{ID: "anti-affinity-others", Severity: Info, Cluster: true, Summary: "anti-affinity keeps the pod away from pods of another workload too, and not all pods get nodes", work: func(c *checker, w *work) {
		changes := func(o *work) bool { // a decision
			_, short := c.together()[w]
			_, other := c.together()[o]
			return short || other || !c.fits(w)
		}
		for i, t := range requiredApart(w.pod) {
			for _, o := range c.works {
				if c.self(w.pod, t) && o != w && o.replicas != 0 && c.reaches(w.pod, t, o.pod.Namespace, o.pod.Labels) && changes(o) {
					c.report(w.path+fmt.Sprintf(apartPath, i), "select by a label that this workload alone has", "the term selects pods of %s too", o.object)
					break
				}
			}
		}
	}},
}

// sameSelection reports whether two terms select the same pods whatever pods there are.
func sameSelection(a, b v1.PodAffinityTerm) bool {
	return reflect.DeepEqual(a.LabelSelector, b.LabelSelector) && reflect.DeepEqual(a.Namespaces, b.Namespaces) && reflect.DeepEqual(a.NamespaceSelector, b.NamespaceSelector)
}

// termKey is the fix of a term whose key no node has. list returns the terms of a pod.
func (c *checker) termKey(w *work, i int, list func(p *v1.Pod) []v1.PodAffinityTerm) string {
	return c.otherKey(w, list(w.pod)[i].TopologyKey, "drop the term", func(s *v1.PodSpec) *string {
		terms := list(&v1.Pod{Spec: *s})
		if i >= len(terms) {
			return nil
		}
		return &terms[i].TopologyKey
	})
}
