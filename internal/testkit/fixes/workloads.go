package fixes

import (
	"regexp"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

// first allows one way.
func first(do func(s *site, m []string) bool) func(s *site, m []string) bool {
	return func(s *site, m []string) bool { return s.way == 0 && do(s, m) }
}

// What is said about replicas, rollouts, amounts and names.
func init() {
	means(`at most (\d+) replicas?`, first(func(s *site, m []string) bool { return s.replicas(number(m[1])) }))
	means(`fewer replicas`, first(func(s *site, _ []string) bool { return s.replicas(1) }))
	means(`fewer replicas: (\d+) more pods? (is|are) within the quota`, first(func(s *site, m []string) bool { return s.replicas(number(m[1])) }))
	means(`ask for more replicas|(\d+) replicas`, first(func(s *site, _ []string) bool { return s.more() }))
	means(`less parallelism`, first(func(s *site, _ []string) bool {
		return s.replicas(number(regexp.MustCompile(`^\d+`).FindString(s.f.Explanation)))
	}))
	means(`strategy Recreate`, first(func(s *site, _ []string) bool { return s.to("spec.strategy", tree{"type": "Recreate"}) }))
	means(`maxUnavailable:? 1`, first(func(s *site, _ []string) bool {
		if strings.HasPrefix(s.object, "PodDisruptionBudget ") {
			return budgetOf(s, "maxUnavailable", 1)
		}
		return s.strategy(tree{"maxUnavailable": 1})
	}))
	means(`maxSurge:? 0`, first(func(s *site, _ []string) bool { return s.strategy(tree{"maxSurge": 0}) }))
	means(`maxSurge:? 0 with maxUnavailable:? 1`, first(func(s *site, _ []string) bool {
		return s.strategy(tree{"maxSurge": 0, "maxUnavailable": 1})
	}))
	means(`at most ([0-9.]+[a-zA-Z]*)(?: with (\d+) replicas?| on every node)?`, first(func(s *site, m []string) bool {
		if m[2] != "" {
			s.replicas(number(m[2]))
		}
		return s.amount(regexp.MustCompile(`asks for \S+ ([^ ,]+)`).FindStringSubmatch(s.f.Explanation)[1], m[1])
	}))
	means(`lower requests`, first(func(s *site, _ []string) bool {
		m := regexp.MustCompile(`of ([a-z./-]+)`).FindStringSubmatch(s.f.Explanation)
		return m != nil && s.amount(m[1], map[bool]string{true: "1", false: "1m"}[strings.Contains(m[1], "/")])
	}))
	means(`write what the containers use`, first(func(s *site, _ []string) bool {
		edit(s.o, func(t tree) {
			for _, c := range list(t, s.path) {
				for name, amount := range map[string]string{"cpu": "1m", "memory": "1Mi"} {
					if get(c, "resources.requests."+name) == nil {
						set(c, "resources.requests."+name, amount)
					}
				}
			}
		})
		return true
	}))
	means(`write what the quota names`, first(func(s *site, _ []string) bool {
		edit(s.o, func(t tree) {
			for _, m := range regexp.MustCompile(`(limits|requests)\.(\w+)`).FindAllStringSubmatch(s.f.Explanation, -1) {
				for _, c := range list(t, s.path) {
					set(c, "resources."+m[1]+"."+m[2], little(m[2]))
					set(c, "resources.requests."+m[2], little(m[2]))
				}
			}
			for _, m := range regexp.MustCompile(`[ ,](cpu|memory)\b`).FindAllStringSubmatch(s.f.Explanation, -1) {
				for _, c := range list(t, s.path) {
					set(c, "resources.requests."+m[1], little(m[1]))
				}
			}
		})
		return true
	}))
	means(`a larger quota`, first(func(s *site, _ []string) bool {
		for _, o := range s.w.Objects {
			if q, is := o.(*v1.ResourceQuota); is {
				for name := range q.Spec.Hard {
					q.Spec.Hard[name] = resource.MustParse("1P")
				}
			}
		}
		return true
	}))
	means(`(\d+Mi)( with limits (\d+Mi))?`, first(func(s *site, m []string) bool {
		if m[3] != "" {
			s.to(strings.Replace(s.path, ".requests[", ".limits[", 1), m[3])
		}
		return s.has() && s.atPath(m[1])
	}))
	means(`no hostPort`, first(func(s *site, _ []string) bool {
		edit(s.o, func(t tree) {
			for _, c := range list(t, s.pod()+".containers") {
				for _, p := range list(c, "ports") {
					remove(p, "hostPort")
				}
			}
		})
		return true
	}))
	means(`ReadWriteMany`, first(func(s *site, _ []string) bool {
		c := find(s.w.Objects, "PersistentVolumeClaim "+s.o.GetNamespace()+"/"+regexp.MustCompile(`claim ([^, ]+)`).FindStringSubmatch(s.f.Explanation)[1])
		if c == nil {
			return false
		}
		edit(c, func(t tree) { set(t, "spec.accessModes", []any{"ReadWriteMany"}) })
		return true
	}))
	means(`mend the name`, func(s *site, _ []string) bool { return s.has() && s.near() })
	means(`name a class of the cluster`, func(s *site, _ []string) bool { return s.class(func(*storagev1.StorageClass) bool { return true }) })
	means(`a class with volumeBindingMode WaitForFirstConsumer`, func(s *site, _ []string) bool {
		if s.way == 0 && s.laterClass() {
			return true
		}
		s.way--
		return s.class(func(k *storagev1.StorageClass) bool {
			return k.VolumeBindingMode != nil && *k.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
		})
	})
	means(`a class that is not below all others`, first(func(s *site, _ []string) bool {
		edit(s.o, func(t tree) { remove(t, s.pod()+".priorityClassName"); remove(t, s.pod()+".priority") })
		return true
	}))
	means(`a PriorityClass with a value above (-?\d+): then pods give way`, first(func(s *site, m []string) bool {
		s.w.Added = append(s.w.Added, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "above"}, Value: int32(number(m[1])) + 1000})
		return s.to(s.path, "above")
	}))
	means(`the labels of the template`, first(func(s *site, _ []string) bool {
		if len(s.labels()) == 0 {
			return false
		}
		return s.to("spec.selector", tree{"matchLabels": s.labels()})
	}))
	means(`the value that the cluster has( and labels of the template that it selects)?`, first(func(s *site, m []string) bool {
		old := find(s.w.Live, s.object)
		if m[1] != "" {
			s.to(s.labelsPath(), get(read(old), s.path+".matchLabels"))
		}
		value := get(read(old), s.path)
		if value == nil {
			return s.without(s.path)
		}
		return s.atPath(value)
	}))
	means(`(globalDefault|the annotation) in one class alone`, first(func(s *site, _ []string) bool { return s.without(s.path) }))
	means(`drop the field`, first(func(s *site, _ []string) bool { return s.without(s.path) }))
	for _, words := range []string{ // what another program or a person must do, and what has no one value
		`one domain more`, `more domains`, `no eviction for preferences`, `a DaemonSet`, `a claim for each replica \(StatefulSet\)`, `check that [^,;]*`, `as it is`,
		`what the API server accepts`, `why \S+ --expand says what would have to change`, `a new object: kubectl delete with --cascade=orphan, then create`, `a LimitRange with defaults`,
		`a PriorityClass that says who comes first`, `exclude the workload from the removal of duplicates`, `a descheduler that leaves soft constraints alone`,
		`a value that is there once`, `write the field`, `mend what forbids it`, `create the object`,
		`(uncordon|free|start|bring|look at|wait|repair|other nodes) .*`,
	} {
		means(words, nil)
	}
}

// little is a small amount of cpu, memory or storage.
func little(name string) string {
	if name == "cpu" {
		return "1m"
	}
	return "1Mi"
}

// more asks for a replica more than there are.
func (s *site) more() bool {
	object := s.object
	if strings.HasPrefix(object, "PodDisruptionBudget ") {
		object = regexp.MustCompile(`pod of (\S+ \S+) must`).FindStringSubmatch(s.f.Explanation)[1]
	}
	if s.o = find(s.w.Objects, object); s.o == nil {
		return false
	}
	s.object = object
	return s.replicas(2)
}

// amount writes a request of the pod: the first container has all of it.
func (s *site) amount(name, amount string) bool {
	if get(read(s.o), s.pod()+".overhead") != nil {
		return false
	}
	if m := regexp.MustCompile(`\((\S+) of them overhead of`).FindStringSubmatch(s.f.Explanation); m != nil {
		q := resource.MustParse(amount)
		if q.Sub(resource.MustParse(m[1])); q.Sign() < 0 {
			return false
		}
		amount = q.String()
	}
	edit(s.o, func(t tree) {
		for _, containers := range []string{".containers", ".initContainers"} {
			for i, c := range list(t, s.pod()+containers) {
				if value := map[bool]string{true: amount, false: "0"}[i == 0]; get(c, "resources.requests["+name+"]") != nil || get(c, "resources.limits["+name+"]") != nil || i == 0 {
					if set(c, "resources.requests["+name+"]", value); get(c, "resources.limits["+name+"]") != nil {
						set(c, "resources.limits["+name+"]", value)
					}
				}
			}
		}
	})
	return true
}

// near writes the name that the explanation says is near.
func (s *site) near() bool {
	m := regexp.MustCompile(`(?:no|wants) \w+ (\S+?),? ?.*near: ([^ ,]+)`).FindStringSubmatch(s.f.Explanation)
	if m == nil || s.way > 0 {
		return false
	}
	switch {
	case strings.HasPrefix(s.f.Explanation, "claim "):
		return s.claimClass(m[2])
	case strings.HasSuffix(s.path, "Name"):
		return s.atPath(m[2])
	case strings.Contains(s.f.Explanation, "there is no ResourceClaim "):
		return s.to(s.path+".resourceClaimName", m[2])
	case strings.Contains(s.f.Explanation, "there is no ResourceClaimTemplate "):
		return s.to(s.path+".resourceClaimTemplateName", m[2])
	}
	return false
}

// class gives the claim of the finding a class, one for each way.
func (s *site) class(good func(k *storagev1.StorageClass) bool) bool {
	n := 0
	for _, o := range s.w.Objects {
		if k, is := o.(*storagev1.StorageClass); is && good(k) {
			if n == s.way {
				return s.claimClass(k.Name)
			}
			n++
		}
	}
	return false
}

// claimClass writes the class of the claim that the explanation names, or of the template at the path.
func (s *site) claimClass(name string) bool {
	claim := regexp.MustCompile(`claim ([^:, ]+)`).FindStringSubmatch(s.f.Explanation)[1]
	for _, ns := range []string{s.o.GetNamespace(), "default"} {
		if o := find(s.w.Objects, "PersistentVolumeClaim "+ns+"/"+claim); o != nil && !strings.Contains(s.path, "volumeClaimTemplate") {
			edit(o, func(t tree) { set(t, "spec.storageClassName", name) })
			return true
		}
	}
	for _, at := range []string{s.path + ".spec.storageClassName", s.path + ".ephemeral.volumeClaimTemplate.spec.storageClassName"} {
		if get(read(s.o), strings.TrimSuffix(at, ".storageClassName")) != nil {
			return s.to(at, name)
		}
	}
	return false
}
