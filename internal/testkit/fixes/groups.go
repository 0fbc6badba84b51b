package fixes

import (
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/podgroup"
)

// What is said about groups of pods.
func init() {
	means(`minCount (\d+) in the PodGroup`, first(func(s *site, m []string) bool {
		return s.group(func(t tree) { set(t, "Minimum", number(m[1])) })
	}))
	means(`(?:replicas|parallelism): (\d+)`, first(func(s *site, m []string) bool { return s.replicas(number(m[1])) }))
	means(`priority (-?\d+) in the PodGroup`, first(func(s *site, m []string) bool {
		return s.group(func(t tree) { set(t, "Priority", number(m[1])) })
	}))
	means(`a key that nodes have in the PodGroup`, func(s *site, _ []string) bool {
		key, ok := s.nodeKey()
		return ok && s.group(func(t tree) { set(t, "Constraints.Topology", []any{key}) })
	})
	means(`the schedulerName (\S+)`, first(func(s *site, m []string) bool { return s.to(s.pod()+".schedulerName", m[1]) }))
	means(`create the group`, first(func(s *site, _ []string) bool {
		m := regexp.MustCompile(`^(composite )?pod group ([^/]+)/([^:]+):`).FindStringSubmatch(s.f.Explanation)
		if m == nil {
			return false
		}
		meta := metav1.ObjectMeta{Namespace: m[2], Name: m[3]}
		if m[1] != "" {
			s.w.Added = append(s.w.Added, &podgroup.Composite{ObjectMeta: meta})
		} else {
			s.w.Added = append(s.w.Added, &podgroup.Group{ObjectMeta: meta})
		}
		return true
	}))
	means(`minGroupCount (\d+) in the CompositePodGroup`, first(func(s *site, m []string) bool {
		c, is := s.o.(*podgroup.Composite)
		if is {
			edit(c, func(t tree) { set(t, "Minimum", number(m[1])) })
		}
		return is
	}))
	means(`more groups`, nil)
	means(`the priorityClassName of the group`, nil)
	means(`more pods`, nil)
}

// group edits the group of the pods.
func (s *site) group(change func(t tree)) bool {
	name, _ := get(read(s.o), s.pod()+".schedulingGroup.podGroupName").(string)
	for _, o := range s.w.Objects {
		if g, is := o.(*podgroup.Group); is && g.Name == name && g.Namespace == namespaceOf(s.o) {
			edit(g, change)
			return true
		}
	}
	return false
}
