package workload

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/taints"
)

// Make returns what the controllers of o make. An error names the first object that is nil, has no name or the name of
// another object of its kind, or has a value that the API server refuses; nothing is returned beside it. More pods than
// [Options.Limit] are an error too.
func Make(o Objects, options Options) (*Made, error) {
	pods, err := o.check()
	if err != nil {
		return nil, err
	}
	m := newMaker(o, pods, options)
	m.deploymentsAndReplicaSets()
	for _, c := range o.ReplicationControllers {
		m.replicas(owner{core, "ReplicationController", c}, m.scaled("ReplicationController", c, c.Spec.Replicas), mapSelector(c.Spec.Selector), c.Spec.Template)
	}
	for _, s := range o.StatefulSets {
		m.statefulSet(s)
	}
	for _, j := range o.Jobs {
		m.job(j)
	}
	for _, c := range o.CronJobs {
		m.cronJob(c)
	}
	for _, d := range o.DaemonSets {
		m.daemonSet(d)
	}
	m.claimsOfPods()
	if m.err != nil {
		return nil, m.err
	}
	return m.made, nil
}

// id is namespace and name.
type id struct{ namespace, name string }

// reference names a controller.
type reference struct {
	kind string
	id
}

// label is a pair in a namespace.
type label struct{ namespace, key, value string }

// maker is one call of Make.
type maker struct {
	o           Objects
	limit       int
	most        func(*v1.Pod) int // Options.Enough
	tolerations taints.Options
	made        *Made
	err         error

	pods    names                   // of the input and those made
	owned   map[reference][]*v1.Pod // pods by the controller that they name
	orphans map[label][]*v1.Pod     // pods without a controller, by each of their labels; with an empty key all of the namespace
	adopted map[*v1.Pod]bool
	claims  map[id]bool
	numbers map[id]int // the last number that a name got
	scales  map[reference]*autoscalingv2.HorizontalPodAutoscaler
}

func newMaker(o Objects, pods names, options Options) *maker {
	m := &maker{
		o: o, limit: options.Limit, most: options.Enough, tolerations: options.Tolerations, made: &Made{}, pods: pods, owned: map[reference][]*v1.Pod{},
		orphans: map[label][]*v1.Pod{}, adopted: map[*v1.Pod]bool{}, claims: map[id]bool{}, numbers: map[id]int{},
		scales: targets(o.Autoscalers),
	}
	if m.limit <= 0 {
		m.limit = defaultLimit
	}
	m.divide(o.Pods)
	for _, c := range o.Claims {
		m.claims[id{c.Namespace, c.Name}] = true
	}
	return m
}

// divide finds the pods of each controller, and the pods without one. The pods of a controller that stand together in the input stay there.
func (m *maker) divide(pods []*v1.Pod) {
	for i := 0; i < len(pods); {
		p, next := pods[i], i+1
		if at, ok := ownerOf(p); ok {
			for next < len(pods) {
				if other, ok := ownerOf(pods[next]); !ok || other != at {
					break
				}
				next++
			}
			if m.owned[at] == nil {
				m.owned[at] = pods[i:next:next]
			} else {
				m.owned[at] = append(m.owned[at], pods[i:next]...)
			}
		} else {
			m.orphans[label{namespace: p.Namespace}] = append(m.orphans[label{namespace: p.Namespace}], p)
			for k, v := range p.Labels {
				m.orphans[label{p.Namespace, k, v}] = append(m.orphans[label{p.Namespace, k, v}], p)
			}
		}
		i = next
	}
}

// ownerOf returns the controller that a pod names, and false when it names none.
func ownerOf(p *v1.Pod) (reference, bool) {
	ref := metav1.GetControllerOfNoCopy(p)
	if ref == nil {
		return reference{}, false
	}
	return reference{ref.Kind, id{p.Namespace, ref.Name}}, true
}

// of returns the pods of a controller in input order: those that name it and match its selector, then those without a
// controller that it adopts. Without a selector it adopts none.
func (m *maker) of(o owner, selector *metav1.LabelSelector) []*v1.Pod {
	s, _ := selectorOf(selector) // check has read it
	others := func(p *v1.Pod) bool {
		uid := metav1.GetControllerOfNoCopy(p).UID
		return uid != o.GetUID() && uid != "" && o.GetUID() != "" || !s.Matches(labels.Set(p.Labels))
	}
	list := slices.Clip(m.owned[reference{o.kind, id{o.GetNamespace(), o.GetName()}}]) // may be a part of the input
	if slices.ContainsFunc(list, others) {
		list = slices.DeleteFunc(slices.Clone(list), others)
	}
	if selector == nil {
		return list
	}
	candidates := m.orphans[label{namespace: o.GetNamespace()}]
	for k, v := range selector.MatchLabels {
		if fewer := m.orphans[label{o.GetNamespace(), k, v}]; len(fewer) < len(candidates) {
			candidates = fewer
		}
	}
	for _, p := range candidates {
		if !m.adopted[p] && p.DeletionTimestamp == nil && s.Matches(labels.Set(p.Labels)) {
			m.adopted[p] = true
			list = append(list, p)
		}
	}
	return list
}

// active reports whether a controller counts the pod as one of its replicas.
func active(p *v1.Pod) bool { return p.DeletionTimestamp == nil && !podinfo.Finished(p) }

func countActive(pods []*v1.Pod) (n int) {
	for _, p := range pods {
		if active(p) {
			n++
		}
	}
	return n
}

// gone reports whether an object is being deleted; its controller makes nothing for it.
func gone(o metav1.Object) bool { return o.GetDeletionTimestamp() != nil }

// pod returns a new pod from a template. The API server keeps 58 characters of a name before its random end.
func (m *maker) pod(o owner, template *v1.PodTemplateSpec, generateName string) *v1.Pod {
	t := template.DeepCopy()
	yes := true
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.GetNamespace(), GenerateName: generateName, Labels: orEmpty(t.Labels), Annotations: orEmpty(t.Annotations), Finalizers: t.Finalizers,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: o.apiVersion, Kind: o.kind, Name: o.GetName(), UID: o.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes,
			}},
		},
		Spec: t.Spec, Status: v1.PodStatus{Phase: v1.PodPending},
	}
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return maps.Clone(m)
}

// room reports whether n more pods are within the limit, from the number alone: the pods of a ReplicaSet with 2147483647 replicas are not
// made to be counted.
func (m *maker) room(o owner, n int) bool {
	if m.err == nil && n > m.limit-len(m.made.Pods) {
		m.err = m.tooMany(o.kind, o.GetNamespace(), o.GetName())
	}
	return m.err == nil
}

func (m *maker) tooMany(kind, namespace, name string) error {
	return fmt.Errorf("%s %s/%s: Too many: there are more than %d pods to make", kind, namespace, name, m.limit)
}

// add gives a pod its name and keeps it. An empty name becomes the pod's generateName and a number.
func (m *maker) add(p *v1.Pod, name string) bool {
	if m.err == nil && len(m.made.Pods) == m.limit {
		m.err = m.tooMany(p.OwnerReferences[0].Kind, p.Namespace, p.OwnerReferences[0].Name)
	}
	if m.err != nil {
		return false
	}
	if name == "" {
		name = m.free(id{p.Namespace, p.GenerateName})
	}
	p.Name = name
	p.UID = types.UID(p.Namespace + "/" + name)
	m.pods.add(p)
	m.made.Pods = append(m.made.Pods, p)
	return true
}

// maxGenerated is how much of metadata.generateName the API server keeps.
const maxGenerated = 58

// free returns the first name with a number that no pod has.
func (m *maker) free(prefix id) string {
	prefix.name = prefix.name[:min(len(prefix.name), maxGenerated)]
	for {
		m.numbers[prefix]++
		name := prefix.name + strconv.Itoa(m.numbers[prefix])
		if m.pods.find(id{prefix.namespace, name}) == nil {
			return name
		}
	}
}

// replicas makes the replicas that are missing and returns how many there are in the end.
func (m *maker) replicas(o owner, want int, selector *metav1.LabelSelector, template *v1.PodTemplateSpec) int {
	if gone(o) {
		return 0
	}
	have := countActive(m.of(o, selector))
	m.more(o, want-have, template)
	return max(want, have)
}

// more makes n pods of a ReplicaSet or ReplicationController.
func (m *maker) more(o owner, n int, template *v1.PodTemplateSpec) {
	m.alike(o, n, func() *v1.Pod { return m.pod(o, template, o.GetName()+"-") })
}

// alike makes n pods that differ in name only, or as many as are enough and counts the others.
func (m *maker) alike(o owner, n int, pod func() *v1.Pod) {
	if n <= 0 || !m.room(o, n) {
		return
	}
	p, most := pod(), n
	if m.most != nil {
		most = min(n, max(1, m.most(p)))
	}
	for k := range most {
		if k > 0 {
			p = pod()
		}
		if !m.add(p, "") {
			return
		}
	}
	if n > most {
		m.made.Counted = append(m.made.Counted, Counted{p, n - most})
	}
}

// newest returns the pod that was created last, nil without one.
func newest(pods []*v1.Pod) *v1.Pod {
	if len(pods) == 0 {
		return nil
	}
	return slices.MaxFunc(pods, func(a, b *v1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
}
