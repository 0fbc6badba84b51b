package fixes

import (
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What is said about budgets.
func init() {
	means(`maxUnavailable: 1 in its place`, first(func(s *site, _ []string) bool { return budgetOf(s, "maxUnavailable", 1) }))
	means(`minAvailable: (\d+)( in its place)?`, first(func(s *site, m []string) bool { return budgetOf(s, "minAvailable", number(m[1])) }))
	means(`minAvailable as a number`, first(func(s *site, _ []string) bool { return budgetOf(s, "minAvailable", 1) }))
	means(`at least (\d+) replicas?`, first(func(s *site, m []string) bool {
		objects := strings.Split(regexp.MustCompile(`pods? of (.*) must be`).FindStringSubmatch(s.f.Explanation)[1], ", ")
		ok := false
		for _, object := range objects {
			other := *s
			if other.object, other.o = object, find(s.w.Objects, object); other.o != nil {
				ok = other.replicas(number(m[1])) || ok
			}
		}
		return ok
	}))
	means(`minReplicas: (\d+)`, first(func(s *site, m []string) bool {
		h := find(s.w.Objects, "HorizontalPodAutoscaler "+s.o.GetNamespace()+"/"+regexp.MustCompile(`HorizontalPodAutoscaler (\S+)`).FindStringSubmatch(s.f.Explanation)[1])
		if h == nil {
			return false
		}
		edit(h, func(t tree) { set(t, "spec.minReplicas", number(m[1])) })
		return true
	}))
	means(`AlwaysAllow`, first(func(s *site, _ []string) bool { return s.atPath("AlwaysAllow") }))
	means(`one budget for each workload`, first(func(s *site, _ []string) bool {
		s.w.Removed = append(s.w.Removed, s.o.(*policyv1.PodDisruptionBudget))
		return true
	}))
	means(`select one workload|write a selector; \{\} selects every pod of the namespace`, first(func(s *site, _ []string) bool { return selectOne(s) }))
	means(`a selector that leaves these pods out`, first(func(s *site, _ []string) bool {
		return s.to("spec.selector", tree{"matchLabels": tree{"example.com/none": "none"}})
	}))
	means(`select by a label that (.+ .+/.+) alone has`, first(func(s *site, m []string) bool {
		selector, ok := s.alone(m[1])
		return ok && s.to("spec.selector", selector)
	}))
}

// budgetOf writes the number of a budget in the place of what it has.
func budgetOf(s *site, name string, n int) bool {
	edit(s.o, func(t tree) {
		remove(t, "spec.minAvailable")
		remove(t, "spec.maxUnavailable")
		set(t, "spec."+name, n)
	})
	return true
}

// selectOne selects the first workload of the namespace.
func selectOne(s *site) bool {
	i := slices.IndexFunc(s.w.Objects, func(o metav1.Object) bool {
		switch o.(type) {
		case *batchv1.Job, *batchv1.CronJob, *appsv1.DaemonSet: // they have no scale
			return false
		}
		return s.same(o) && get(read(o), "spec.template.spec") != nil
	})
	if i < 0 {
		return false
	}
	selector, ok := s.alone(nameOf(s.w.Objects[i]))
	return ok && s.to("spec.selector", selector)
}

// same reports whether an object has the namespace of the finding's.
func (s *site) same(o metav1.Object) bool {
	return namespaceOf(o) == namespaceOf(s.o)
}
