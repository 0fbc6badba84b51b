package diagnose

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/podinfo"
)

// podTemplate returns the template from which the controller of a pod makes pods; nil when the snapshot does not have the controller.
func podTemplate(s *cluster.Snapshot, pod *v1.Pod) *v1.PodTemplateSpec {
	c := metav1.GetControllerOfNoCopy(pod)
	if c == nil {
		return nil
	}
	switch c.Kind {
	case "ReplicaSet":
		if set, ok := cluster.List[*appsv1.ReplicaSet](s).Get(pod.Namespace, c.Name); ok {
			return &set.Spec.Template
		}
	case "StatefulSet":
		if set, ok := cluster.List[*appsv1.StatefulSet](s).Get(pod.Namespace, c.Name); ok {
			return &set.Spec.Template
		}
	}
	return nil
}

// lacks reports whether a template does not have the rule of a pod at a path: somebody else, such as an admission webhook, has written the
// rule into the pod. The path is one of a node selector, a required term or a spread constraint. nil lacks nothing.
func lacks(t *v1.PodTemplateSpec, pod *v1.Pod, path string) bool {
	if t == nil {
		return false
	}
	as := &v1.Pod{Spec: t.Spec}
	if key, ok := strings.CutPrefix(path, "spec.nodeSelector["); ok {
		key, _, _ = strings.Cut(key, "]")
		had, known := as.Spec.NodeSelector[key]
		return !known || had != pod.Spec.NodeSelector[key]
	}
	if strings.HasPrefix(path, requiredNodeAffinity) {
		return lacksTerms(t, pod)
	}
	if k, ok := indexOf(path, "spec.topologySpreadConstraints["); ok {
		return k >= len(as.Spec.TopologySpreadConstraints) || k < len(pod.Spec.TopologySpreadConstraints) && as.Spec.TopologySpreadConstraints[k].TopologyKey != pod.Spec.TopologySpreadConstraints[k].TopologyKey
	}
	names, has := podAffinityOf(as)
	_, wants := podAffinityOf(pod)
	for i, name := range names {
		if k, ok := indexOf(path, "spec.affinity."+name+".requiredDuringSchedulingIgnoredDuringExecution["); ok && wants[i].required != nil && k < len(*wants[i].required) {
			return has[i].required == nil || k >= len(*has[i].required) || (*has[i].required)[k].TopologyKey != (*wants[i].required)[k].TopologyKey
		}
	}
	return false
}

// lacksTerms reports whether a template does not have the required node affinity of a pod.
func lacksTerms(t *v1.PodTemplateSpec, pod *v1.Pod) bool {
	if t == nil {
		return false
	}
	has, wants := podinfo.NodeAffinity(&v1.Pod{Spec: t.Spec}), podinfo.NodeAffinity(pod)
	return wants != nil && (has == nil || !reflect.DeepEqual(has.RequiredDuringSchedulingIgnoredDuringExecution, wants.RequiredDuringSchedulingIgnoredDuringExecution))
}

// indexOf returns the number behind a prefix of a path: 2 of "spec.list[2].field" for "spec.list[".
func indexOf(path, prefix string) (int, bool) {
	rest, ok := strings.CutPrefix(path, prefix)
	if !ok {
		return 0, false
	}
	text, _, _ := strings.Cut(rest, "]")
	k, err := strconv.Atoi(text)
	return k, err == nil
}

// ofTemplate gives the changes of rules that the template of the pod lacks their reason: an edit of the owner would change nothing. The
// change in their place is a new pod, which its controller makes without these rules.
func (d *diagnosis) ofTemplate(list []*Change) []*Change {
	t := podTemplate(d.base, d.pod)
	terms := sync.OnceValue(func() bool { return lacksTerms(t, d.pod) }) // a pod may have a change for each of many requirements
	var rules, paths []string
	for _, c := range list {
		if strings.HasPrefix(c.Path, requiredNodeAffinity) && !terms() || !strings.HasPrefix(c.Path, requiredNodeAffinity) && !lacks(t, d.pod, c.Path) {
			continue
		}
		if strings.HasPrefix(c.Path, "spec.nodeSelector[") && d.pod.Spec.RuntimeClassName != nil && t.Spec.RuntimeClassName != nil {
			c.why = whyRuntime
			continue
		}
		if (c.Kind == DropSelector || c.Kind == Prefer) && c.why == "" {
			rules, paths = append(rules, strings.TrimPrefix(c.rule, "spec.")), append(paths, c.rule)
		}
		c.why = whyTemplate
	}
	if rules == nil || merges(t) {
		return list
	}
	by := metav1.GetControllerOfNoCopy(d.pod)
	return append(list, &Change{
		Kind: Remake, Object: "Pod " + podinfo.Name(d.pod), Path: paths[0], From: joined(rules), To: by.Kind + " " + d.pod.Namespace + "/" + by.Name, rule: paths[0], pod: d.pod,
		edit: func(p *v1.Pod, _ int64) {
			for _, path := range paths {
				asIn(t, p, path)
			}
		},
	})
}

// merges reports whether the API server adds label keys to terms of a template, which a pod of it then has.
func merges(t *v1.PodTemplateSpec) bool {
	_, terms := podAffinityOf(&v1.Pod{Spec: t.Spec})
	for _, of := range terms {
		if of.required != nil && slices.ContainsFunc(*of.required, func(t v1.PodAffinityTerm) bool { return len(t.MatchLabelKeys)+len(t.MismatchLabelKeys) > 0 }) {
			return true
		}
	}
	return false
}

// asIn gives a pod the rule of a template: a key of the node selector, or all of affinity or of the spread constraints.
func asIn(t *v1.PodTemplateSpec, p *v1.Pod, path string) {
	key, selector := strings.CutPrefix(path, "spec.nodeSelector[")
	key = strings.TrimSuffix(key, "]")
	switch value, has := t.Spec.NodeSelector[key]; {
	case selector && has:
		p.Spec.NodeSelector[key] = value
	case selector:
		delete(p.Spec.NodeSelector, key)
	case strings.HasPrefix(path, "spec.affinity."):
		p.Spec.Affinity = t.Spec.Affinity.DeepCopy()
	default:
		p.Spec.TopologySpreadConstraints = t.DeepCopy().Spec.TopologySpreadConstraints
	}
}
