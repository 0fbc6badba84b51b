package fixes

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// What is said about nodes, affinity, constraints, tolerations and preferences.
func init() {
	means(`drop (the|this) (rule|term|toleration|constraints?|key)|drop the toleration: 300 s are the default|drop one of them`, first(func(s *site, _ []string) bool {
		if strings.HasSuffix(s.path, ".nodeSelector") {
			return s.without(s.path + "[" + v1.LabelHostname + "]")
		}
		return s.without(constraintOf(s.path))
	}))
	means(`podAntiAffinity term (\d+)`, first(func(s *site, m []string) bool {
		return s.without(s.pod() + ".affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[" + m[1] + "]")
	}))
	means(`drop one of the requirements|the requirement that contradicts`, func(s *site, _ []string) bool { return s.oneRequirement() })
	means(`write its requirements`, first(func(s *site, _ []string) bool {
		return s.to(s.path+".nodeSelectorTerms", []any{tree{"matchExpressions": []any{tree{"key": v1.LabelHostname, "operator": "Exists"}}}})
	}))
	means(`use (\S+) as topologyKey`, first(func(s *site, m []string) bool { return s.topologyKey(m[1]) }))
	means(`use ([^ =]+)=(\S+) in the place of ([^=]+)(?:=(.*))?`, first(func(s *site, m []string) bool { return s.otherLabel(m[1], &m[2], m[3], m[4]) }))
	means(`use ([^ =]+) in the place of ([^ =]+)`, first(func(s *site, m []string) bool { return s.otherLabel(m[1], nil, m[2], "") }))
	means(`add a node that matches`, nil)
	means(`use a zone as topologyKey`, first(func(s *site, _ []string) bool { return s.to(s.path+".topologyKey", v1.LabelTopologyZone) }))
	means(`make the term a preference|a preference`, first(func(s *site, _ []string) bool { return s.prefer() }))
	means(`a spread constraint`, first(func(s *site, _ []string) bool {
		term := get(read(s.o), s.path)
		if !s.without(s.path) {
			return false
		}
		all := list(read(s.o), s.pod()+".topologySpreadConstraints")
		return s.to(s.pod()+".topologySpreadConstraints", append(all, tree{"maxSkew": 1, "topologyKey": get(term, "topologyKey"), "whenUnsatisfiable": "DoNotSchedule", "labelSelector": get(term, "labelSelector")}))
	}))
	means(`mend the selector( or the namespaces?)?|mend namespaces or namespaceSelector`, first(func(s *site, _ []string) bool {
		if strings.HasPrefix(s.object, "PodDisruptionBudget ") {
			return selectOne(s)
		}
		edit(s.o, func(t tree) {
			remove(t, s.path+".namespaces")
			remove(t, s.path+".namespaceSelector")
			if strings.HasPrefix(s.f.Fix, "mend the selector") {
				set(t, s.path+".labelSelector", tree{"matchLabels": s.labels()})
			}
		})
		return true
	}))
	means(`write a labelSelector(; \{\} selects every pod)?|select labels of the pod template`, first(func(s *site, _ []string) bool {
		return s.to(strings.TrimSuffix(s.path, ".labelSelector")+".labelSelector", tree{"matchLabels": s.labels()})
	}))
	means(`select by a label that this workload alone has`, first(func(s *site, _ []string) bool {
		selector, ok := s.alone(s.object)
		return ok && s.to(strings.TrimSuffix(s.path, ".labelSelector")+".labelSelector", selector)
	}))
	means(`matchLabelKeys: \[pod-template-hash\]`, first(func(s *site, _ []string) bool {
		edit(s.o, func(t tree) {
			if all := list(t, s.path); all != nil { // of the constraints
				for _, c := range all {
					set(c, "matchLabelKeys", []any{"pod-template-hash"})
				}
				return
			}
			set(t, s.path+".matchLabelKeys", []any{"pod-template-hash"})
		})
		return true
	}))
	means(`a label that the controller sets`, first(func(s *site, _ []string) bool {
		kind, _, _ := strings.Cut(s.object, " ")
		key := map[string]string{"Deployment": "pod-template-hash", "StatefulSet": "controller-revision-hash", "DaemonSet": "controller-revision-hash"}[kind]
		return key != "" && s.atPath([]any{key})
	}))
	means(`drop the keys?`, first(func(s *site, _ []string) bool { return s.without(s.path) }))
	means(`minDomains:? (\d+)`, first(func(s *site, m []string) bool { return s.atPath(number(m[1])) }))
	means(`(nodeTaintsPolicy|nodeAffinityPolicy): Honor( and minDomains: (\d+) together)?`, first(func(s *site, m []string) bool {
		if m[3] != "" {
			s.to(parent(s.path)+".minDomains", number(m[3]))
		}
		return s.to(parent(s.path)+"."+m[1], "Honor")
	}))
	means(`exclude the domain by node affinity( with nodeAffinityPolicy: Honor)? until its maintenance is over`, first(func(s *site, m []string) bool {
		x := regexp.MustCompile(`all nodes of (\S+) \[(.*?)\] are`).FindStringSubmatch(s.f.Explanation)
		values := []any{}
		for _, v := range strings.Fields(x[2]) {
			values = append(values, v)
		}
		edit(s.o, func(t tree) {
			at := s.pod() + ".affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
			if len(list(t, at)) == 0 {
				set(t, at, []any{tree{}})
			}
			for _, term := range list(t, at) {
				set(term, "matchExpressions", append(list(term, "matchExpressions"), tree{"key": x[1], "operator": "NotIn", "values": values}))
			}
			if m[1] != "" {
				set(t, s.path+".nodeAffinityPolicy", "Honor")
			}
		})
		return true
	}))
	means(`make one constraint ScheduleAnyway`, func(s *site, _ []string) bool {
		at := fmt.Sprintf("%s[%d]", s.path, s.way)
		if get(read(s.o), at) == nil {
			return false
		}
		edit(s.o, func(t tree) { set(t, at+".whenUnsatisfiable", "ScheduleAnyway"); remove(t, at+".minDomains") })
		return true
	})
	means(`DoNotSchedule`, first(func(s *site, _ []string) bool { return s.to(s.path+".whenUnsatisfiable", "DoNotSchedule") }))
	means(`raise its maxSkew`, func(s *site, _ []string) bool {
		at := fmt.Sprintf("%s[%d]", s.path, s.way)
		return get(read(s.o), at) != nil && s.to(at+".maxSkew", 1000)
	})
	means(`maxSkew (\d+)`, first(func(s *site, m []string) bool { return s.atPath(number(m[1])) }))
	means(`mend its key, value or effect`, func(s *site, _ []string) bool {
		n := 0
		for _, node := range s.w.Nodes {
			for _, x := range node.Spec.Taints {
				if n == s.way {
					return s.atPath(tree{"key": x.Key, "operator": "Exists"})
				}
				n++
			}
		}
		return false
	})
	means(`name the keys that the pod should tolerate`, first(func(s *site, _ []string) bool {
		return s.atPath(tree{"key": "example.com/pool", "operator": "Exists"})
	}))
	means(`(?:effect: NoExecute and )?tolerationSeconds: 300`, first(func(s *site, m []string) bool {
		if strings.Contains(m[0], "NoExecute") {
			s.to(s.path+".effect", "NoExecute")
		}
		return s.to(s.path+".tolerationSeconds", 300)
	}))
	means(`tolerate ([^,;]+)`, first(func(s *site, m []string) bool {
		all := list(read(s.o), s.path)
		for _, text := range strings.Split(m[1], " and ") {
			x := regexp.MustCompile(`^([^=:]+)(?:=([^:]*))?(?::(.*))?$`).FindStringSubmatch(text)
			t := tree{"key": x[1], "operator": "Exists"}
			if x[2] != "" {
				t["operator"], t["value"] = "Equal", x[2]
			}
			if x[3] != "" {
				t["effect"] = x[3]
			}
			all = append(all, t)
		}
		return s.atPath(all)
	}))
	means(`use node affinity on metadata.name or a label|node affinity on metadata.name in the place of nodeName`, first(func(s *site, _ []string) bool {
		name := get(read(s.o), s.path)
		s.without(s.path)
		return s.to(s.pod()+".affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
			[]any{tree{"matchFields": []any{tree{"key": "metadata.name", "operator": "In", "values": []any{name}}}}})
	}))
	means(`[a-z./-]*kubernetes\.io/[a-z-]+`, first(func(s *site, m []string) bool { return s.rename(m[0]) }))
	means(`at least (\d+)`, first(func(s *site, m []string) bool { return s.atPath(number(m[1])) }))
	means(`require the label`, first(func(s *site, _ []string) bool {
		term := get(read(s.o), s.path+".preference")
		s.without(s.path)
		at := s.pod() + ".affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
		return s.to(at, append(list(read(s.o), at), term))
	}))
	means(`prefer nodes without such a taint`, first(func(s *site, _ []string) bool { return s.without(s.path) }))
	means(`one term with the sum of the weights`, first(func(s *site, _ []string) bool {
		weight, _ := get(read(s.o), s.path+".weight").(float64)
		other := parent(s.path) + "[" + regexp.MustCompile(`\d+$`).FindString(s.f.Explanation) + "].weight"
		mine, _ := get(read(s.o), other).(float64)
		return s.to(other, min(weight+mine, 100)) && s.without(s.path)
	}))
}

// constraintOf returns the path of the constraint or term of one of its fields.
func constraintOf(path string) string {
	for _, field := range []string{".topologyKey", ".labelSelector", ".maxSkew"} {
		path = strings.TrimSuffix(path, field)
	}
	return path
}

// oneRequirement takes away a key of the node selector or a requirement of a term, one for each way.
func (s *site) oneRequirement() bool {
	t, paths := read(s.o), []string{}
	if !strings.Contains(s.path, "nodeSelectorTerms[") {
		selector, _ := get(t, s.pod()+".nodeSelector").(tree)
		for key := range selector {
			paths = append(paths, s.pod()+".nodeSelector["+key+"]")
		}
	}
	terms := []string{s.path}
	if !strings.Contains(s.path, "nodeSelectorTerms[") {
		terms = nil
		for i := range list(t, s.path+".nodeSelectorTerms") {
			terms = append(terms, fmt.Sprintf("%s.nodeSelectorTerms[%d]", s.path, i))
		}
	}
	for _, term := range terms {
		for _, name := range []string{".matchExpressions", ".matchFields"} {
			for i := range list(t, term+name) {
				paths = append(paths, fmt.Sprintf("%s%s[%d]", term, name, i))
			}
		}
	}
	slices.Sort(paths)
	return s.way < len(paths) && s.without(paths[s.way])
}

// topologyKey writes the key of a constraint or term.
func (s *site) topologyKey(key string) bool {
	at := s.path
	if !strings.HasSuffix(at, "topologyKey") {
		at += ".podAffinityTerm.topologyKey"
	}
	return s.to(at, key)
}

// otherLabel writes a label in the place of another: in the node selector, or else in the first requirement of the other in the term of the
// finding, or of any required term. Without a value the requirement keeps what it has.
func (s *site) otherLabel(key string, value *string, old, was string) bool {
	was = strings.Trim(was, `"`)
	t := read(s.o)
	terms := []string{s.path + ".matchExpressions", s.path + ".preference.matchExpressions"}
	if !strings.HasSuffix(s.path, "]") {
		if selector, _ := get(t, s.pod()+".nodeSelector").(tree); selector[old] != nil && value != nil && (was == "" || selector[old] == was) {
			return s.without(s.pod()+".nodeSelector["+old+"]") && s.to(s.pod()+".nodeSelector["+key+"]", strings.Trim(*value, `"`))
		}
		terms = nil
		required := s.pod() + ".affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
		for i := range list(t, required) {
			terms = append(terms, fmt.Sprintf("%s[%d].matchExpressions", required, i))
		}
	}
	for _, at := range terms {
		for k, r := range list(t, at) {
			operator := get(r, "operator")
			values, _ := get(r, "values").([]any)
			if get(r, "key") != old || operator == "NotIn" || operator == "DoesNotExist" || was != "" && !slices.Equal(values, []any{was}) {
				continue
			}
			if value == nil {
				return s.to(fmt.Sprintf("%s[%d].key", at, k), key)
			}
			return s.to(fmt.Sprintf("%s[%d]", at, k), tree{"key": key, "operator": "In", "values": []any{strings.Trim(*value, `"`)}})
		}
	}
	return false
}

// prefer turns a required term into a preference.
func (s *site) prefer() bool {
	term := get(read(s.o), s.path)
	if !s.without(s.path) {
		return false
	}
	at := strings.Replace(s.path[:strings.LastIndex(s.path, "[")], "required", "preferred", 1)
	return s.to(at, append(list(read(s.o), at), tree{"weight": 1, "podAffinityTerm": term}))
}

// rename writes the new name of a label for its old one.
func (s *site) rename(now string) bool {
	old := strings.Fields(s.f.Explanation)[0]
	edit(s.o, func(t tree) {
		switch {
		case strings.HasSuffix(s.path, "topologyKey"):
			set(t, s.path, now)
		case strings.HasSuffix(s.path, "nodeSelector"):
			value := get(t, s.path+"["+old+"]")
			remove(t, s.path+"["+old+"]")
			set(t, s.path+"["+now+"]", value)
		default:
			for _, r := range list(t, s.path+".matchExpressions") {
				if get(r, "key") == old {
					set(r, "key", now)
				}
			}
		}
	})
	return true
}
