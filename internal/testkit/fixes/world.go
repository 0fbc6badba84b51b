package fixes

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// World is the manifests and the nodes that fixes change and read.
type World struct {
	Objects []metav1.Object
	Nodes   []*v1.Node
	Live    []metav1.Object
	// Added and Removed are what a change makes and deletes.
	Added   []metav1.Object
	Removed []*policyv1.PodDisruptionBudget
}

// Finding is what a change is made of: the fields of a finding of package lint.
type Finding struct{ Object, Path, Explanation, Fix string }

// nameOf returns an object as findings name it.
func nameOf(o metav1.Object) string {
	kind := reflect.TypeOf(o).Elem().Name()
	if kind == "Group" || kind == "Composite" { // of package podgroup
		kind = strings.Replace(kind+"PodGroup", "GroupPod", "Pod", 1)
	}
	if strings.HasSuffix(kind, "Class") {
		return kind + " " + o.GetName()
	}
	return kind + " " + namespaceOf(o) + "/" + o.GetName()
}

func namespaceOf(o metav1.Object) string { return cmp.Or(o.GetNamespace(), "default") }

func find(list []metav1.Object, name string) metav1.Object {
	if i := slices.IndexFunc(list, func(o metav1.Object) bool { return nameOf(o) == name }); i >= 0 {
		return list[i]
	}
	return nil
}

// site is a change in the making: a finding about an object of a world, and which of several ways is tried.
type site struct {
	w      *World
	f      Finding
	o      metav1.Object
	path   string
	way    int // 0 is the first
	object string
}

// pod returns the path of the specification of the pods.
func (s *site) pod() string {
	switch kind, _, _ := strings.Cut(s.object, " "); kind {
	case "Pod":
		return "spec"
	case "CronJob":
		return "spec.jobTemplate.spec.template.spec"
	}
	return "spec.template.spec"
}

func (s *site) template() string {
	return strings.TrimSuffix(strings.TrimSuffix(s.pod(), "spec"), ".")
}

// labelsPath is the path of the labels of the pods.
func (s *site) labelsPath() string {
	return strings.TrimPrefix(s.template()+".metadata.labels", ".")
}

func (s *site) labels() tree {
	t, _ := get(read(s.o), s.labelsPath()).(tree)
	return t
}

// has reports whether the manifest has the field of the finding: others come from defaults.
func (s *site) has() bool { return get(read(s.o), s.path) != nil }

// to writes a value at a path of the object.
func (s *site) to(path string, value any) bool {
	edit(s.o, func(t tree) { set(t, path, value) })
	return true
}

// atPath writes a value at the path of the finding.
func (s *site) atPath(value any) bool { return s.to(s.path, value) }

// without removes the field at a path, and reports whether the field was there.
func (s *site) without(path string) bool {
	if get(read(s.o), path) == nil {
		return false
	}
	edit(s.o, func(t tree) { remove(t, path) })
	return true
}

// replicas sets the number of pods.
func (s *site) replicas(n int) bool {
	for _, o := range s.w.Objects { // the autoscaler sets the replicas
		if r := read(o); nameOf(o) != s.object && get(r, "spec.scaleTargetRef") != nil {
			kind, _ := get(r, "spec.scaleTargetRef.kind").(string)
			name, _ := get(r, "spec.scaleTargetRef.name").(string)
			if kind+" "+namespaceOf(o)+"/"+name == s.object {
				edit(o, func(t tree) { set(t, "spec.minReplicas", n); set(t, "spec.maxReplicas", n) })
			}
		}
	}
	switch kind, _, _ := strings.Cut(s.object, " "); kind {
	case "Deployment", "StatefulSet", "ReplicaSet", "ReplicationController":
		return s.to("spec.replicas", n)
	case "Job":
		return s.to("spec.parallelism", n)
	case "CronJob":
		return s.to("spec.jobTemplate.spec.parallelism", n)
	}
	return false
}

// alone gives the pods of a workload a label that no other pod has, and returns it. Its controller selects by the label too.
func (s *site) alone(object string) (tree, bool) {
	o := find(s.w.Objects, object)
	if o == nil {
		return nil, false
	}
	other := *s
	other.o, other.object = o, object
	label := strings.NewReplacer(" ", "-", "/", "-").Replace(object)
	edit(o, func(t tree) {
		set(t, other.labelsPath()+"[example.com/alone]", label)
		if kind, _, _ := strings.Cut(object, " "); kind == "ReplicationController" && get(t, "spec.selector") != nil {
			set(t, "spec.selector[example.com/alone]", label)
		}
	})
	return tree{"matchLabels": tree{"example.com/alone": label}}, true
}

// nodeKey returns a key of the nodes' labels, one for each way: first the zone, then the host name, then the others.
func (s *site) nodeKey() (string, bool) {
	there := map[string]bool{}
	for _, n := range s.w.Nodes {
		for key := range n.Labels {
			there[key] = true
		}
	}
	keys := slices.Compact(append([]string{v1.LabelTopologyZone, v1.LabelHostname}, slices.Sorted(maps.Keys(there))...))
	keys = slices.DeleteFunc(keys, func(k string) bool { return !there[k] })
	if s.way >= len(keys) {
		return "", false
	}
	return keys[s.way], true
}

// strategy sets the numbers of a rolling update.
func (s *site) strategy(values tree) bool {
	at := "spec.strategy"
	if _, is := s.o.(*appsv1.DaemonSet); is {
		at = "spec.updateStrategy"
	}
	edit(s.o, func(t tree) {
		set(t, at+".type", "RollingUpdate")
		for k, v := range values {
			set(t, at+".rollingUpdate."+k, v)
		}
	})
	return true
}
