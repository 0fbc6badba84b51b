package apiserver_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/diagnose"
)

// TestAdviceIsAccepted makes the edits of all printed remedies of generated clusters at the server: edits of the owner, of nodes, budgets,
// volumes and claims, nodes that are added, and objects that are made again. The server accepts each of them.
func TestAdviceIsAccepted(t *testing.T) {
	e := &editor{t: t, server: start(t), kinds: map[string]int{}}
	n := gen.Count(400, 10)
	for seed := *gen.Seed; seed < *gen.Seed+int64(n); seed++ {
		c := gen.Of(seed, gen.Shape{Nodes: 8, Running: 20, Pending: 3, Volumes: seed%5 == 4})
		kind := gen.Team(c, seed)
		for _, p := range c.Pending {
			admissible(p)
			p.Status.NominatedNodeName = ""
		}
		for _, p := range c.Pods {
			admissible(p)
		}
		at := max(0, slices.IndexFunc(c.Pending, func(p *v1.Pod) bool { return p.Name == "own-7" }))
		switch { // a resize that waits has the room, or the pods want nodes that no pool has
		case len(c.Pending) == 0:
		case seed%10 < 2:
			gen.Hold(c, 0)
		case seed%10 == 5:
			for _, p := range append(slices.Clone(c.Pods), c.Pending...) {
				if p == c.Pending[at] || strings.HasPrefix(p.Name, "own-") {
					p.Spec.NodeSelector = map[string]string{"example.com/pool": "large"}
				}
			}
		}
		s, err := cluster.New(c.Objects)
		require.NoError(t, err)
		if len(c.Pending) == 0 || s.Pod(c.Pending[at].Namespace, c.Pending[at].Name) != nil {
			continue
		}
		d, err := diagnose.Relax(diagnose.Input{Snapshot: s, Pending: c.Pending}, c.Pending[at], diagnose.Options{Size: 2})
		require.NoError(t, err)
		for _, r := range d.Remedies {
			for _, x := range r.Changes {
				e.story = fmt.Sprintf("seed %d: %s", seed, x.Text())
				e.change(s, c.Pending[at], kind, x)
			}
		}
	}
	t.Logf("%d clusters, %d edits accepted, %d of objects that the server does not keep, %d not edits; %v", n, e.accepted, e.unkept, e.outside, e.kinds)
	require.Greater(t, e.accepted, n/4)
	require.Greater(t, e.accepted, 4*e.unkept)
	if n >= 400 {
		require.Positive(t, e.kinds[string(diagnose.Resize)])
	}
}

// editor makes edits at a server.
type editor struct {
	t        *testing.T
	server   server
	story    string
	made     int
	accepted int
	unkept   int // the server refuses the object as it is: generated clusters have things that it would not keep
	outside  int // what is no edit of an object: a pod moves, a disk is freed
	kinds    map[string]int
}

// admissible takes away from a pod what admission writes itself, and gives it what the server asks for.
func admissible(p *v1.Pod) {
	p.Spec.Priority, p.Spec.PreemptionPolicy, p.Spec.PriorityClassName = nil, nil, ""
	p.Spec.Overhead, p.Spec.RuntimeClassName = nil, nil
	for _, list := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			list[i].Image = "i"
			list[i].TerminationMessagePolicy = v1.TerminationMessageReadFile
			for name, q := range list[i].Resources.Requests {
				if strings.Contains(string(name), "/") { // no overcommit
					if list[i].Resources.Limits == nil {
						list[i].Resources.Limits = v1.ResourceList{}
					}
					list[i].Resources.Limits[name] = q
				}
			}
		}
	}
}

// update stores an object, and updates it.
func update[T any, P interface {
	*T
	metav1.Object
}](e *editor, path string, old P, subresource string, edit func(P)) {
	e.made++
	old.SetName("o" + strconv.Itoa(e.made))
	old.SetResourceVersion("")
	old.SetUID("")
	status, err := e.server.send(http.MethodPost, path, old, false)
	require.NoError(e.t, err)
	if status.Message != "" {
		e.unkept++
		return
	}
	stored := P(new(T))
	require.NoError(e.t, e.server.get(path+"/"+old.GetName(), stored))
	edit(stored)
	status, err = e.server.try(http.MethodPut, path+"/"+old.GetName()+subresource, stored)
	require.NoError(e.t, err)
	e.answer(status)
}

// create asks about a new object.
func (e *editor) create(path string, o metav1.Object) {
	o.SetResourceVersion("")
	o.SetUID("")
	o.SetDeletionTimestamp(nil)
	status, err := e.server.try(http.MethodPost, path, o)
	require.NoError(e.t, err)
	e.answer(status)
}

func (e *editor) answer(status metav1.Status) {
	if status.Message != "" {
		e.t.Errorf("%s: %s", e.story, status.Message)
		return
	}
	e.accepted++
}

// change makes one change of a remedy, or several of one object.
func (e *editor) change(s *cluster.Snapshot, pod *v1.Pod, kind string, changes ...diagnose.Change) {
	for _, c := range changes {
		e.kinds[string(c.Kind)]++
	}
	c := changes[0]
	switch c.Kind {
	case diagnose.Recover, diagnose.MaxPods, diagnose.Remake, diagnose.MovePods, diagnose.RemovePods, diagnose.ReleaseClaim:
		e.outside++
		return
	}
	fork := s.Fork()
	changed, err := diagnose.Apply(fork, pod, changes...)
	require.NoError(e.t, err)
	object, name, _ := strings.Cut(c.Object, " ")
	_, name, _ = strings.Cut(name, "/")
	switch object {
	case "Pod":
		if c.Kind == diagnose.Resize {
			e.resize(s, fork, c)
			return
		}
		e.pod(pod, changed, c)
	case "Node":
		e.node(s, fork, c)
	case "PodDisruptionBudget":
		namespaced := pod.Namespace
		for _, b := range slices.Collect(cluster.List[*policyv1.PodDisruptionBudget](s).All()) {
			if c.Object == "PodDisruptionBudget "+b.Namespace+"/"+b.Name {
				namespaced = b.Namespace
			}
		}
		old, _ := cluster.List[*policyv1.PodDisruptionBudget](s).Get(namespaced, name)
		now, _ := cluster.List[*policyv1.PodDisruptionBudget](fork).Get(namespaced, name)
		old = old.DeepCopy()
		old.Namespace = namespace
		update(e, "/apis/policy/v1/namespaces/"+namespace+"/poddisruptionbudgets", old, "", func(o *policyv1.PodDisruptionBudget) { o.Spec = now.Spec })
	case "PersistentVolume":
		old, _ := cluster.List[*v1.PersistentVolume](s).Get("", strings.TrimPrefix(c.Object, "PersistentVolume "))
		now, ok := cluster.List[*v1.PersistentVolume](fork).Get("", old.Name)
		require.True(e.t, ok, e.story)
		update(e, "/api/v1/persistentvolumes", old.DeepCopy(), "", func(o *v1.PersistentVolume) { o.Spec.ClaimRef = now.Spec.ClaimRef })
	case "PersistentVolumeClaim":
		e.claim(s, fork, pod.Namespace, name, c)
	case "ResourceClaim":
		now, ok := cluster.List[*resourcev1.ResourceClaim](fork).Get(pod.Namespace, name)
		require.True(e.t, ok, e.story)
		made := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "again"}, Spec: now.Spec}
		e.create("/apis/resource.k8s.io/v1/namespaces/"+namespace+"/resourceclaims", made)
	case "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob":
		e.owner(object, pod, changed, c)
	default:
		require.Contains(e.t, []string{"the", "ReplicationController"}, object, e.story) // another controller: the text names no field
		require.Equal(e.t, "", kind, e.story)
		e.outside++
	}
}

// pod makes an edit of a pod, in place or by a new pod.
func (e *editor) pod(pod, changed *v1.Pod, c diagnose.Change) {
	const path = "/api/v1/namespaces/" + namespace + "/pods"
	old := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p", Labels: pod.Labels}, Spec: *pod.Spec.DeepCopy()}
	switch {
	case c.Again:
		status, err := e.server.try(http.MethodPost, path, old)
		require.NoError(e.t, err)
		if status.Message != "" {
			e.unkept++
			return
		}
		e.create(path, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p", Labels: changed.Labels}, Spec: changed.Spec})
	case c.Kind == diagnose.LowerRequest:
		update(e, path, old, "/resize", func(o *v1.Pod) {
			for i := range o.Spec.Containers {
				o.Spec.Containers[i].Resources = changed.Spec.Containers[i].Resources
			}
			for i := range o.Spec.InitContainers {
				o.Spec.InitContainers[i].Resources = changed.Spec.InitContainers[i].Resources
			}
			o.Spec.Resources = changed.Spec.Resources
		})
	default:
		update(e, path, old, "", func(o *v1.Pod) {
			o.Spec.SchedulingGates = changed.Spec.SchedulingGates
			for _, t := range changed.Spec.Tolerations { // beside those of admission
				if !slices.Contains(o.Spec.Tolerations, t) {
					o.Spec.Tolerations = append(o.Spec.Tolerations, t)
				}
			}
		})
	}
}

// resize takes the resize of a running pod back.
func (e *editor) resize(s, fork *cluster.Snapshot, c diagnose.Change) {
	of, name, _ := strings.Cut(strings.TrimPrefix(c.Object, "Pod "), "/")
	was, now := s.Pod(of, name), fork.Pod(of, name)
	require.NotEqual(e.t, was.Spec, now.Spec, e.story)
	old := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: was.Labels}, Spec: *was.Spec.DeepCopy()}
	old.Spec.NodeName = ""
	update(e, "/api/v1/namespaces/"+namespace+"/pods", old, "/resize", func(o *v1.Pod) {
		for i := range o.Spec.Containers {
			o.Spec.Containers[i].Resources = now.Spec.Containers[i].Resources
		}
	})
}

// node makes an edit of a node, or adds nodes.
func (e *editor) node(s, fork *cluster.Snapshot, c diagnose.Change) {
	const path = "/api/v1/nodes"
	for i := range fork.Len() {
		now := fork.Node(i)
		if now == nil {
			continue
		}
		slot := s.Slot(now.Name)
		switch {
		case slot < 0:
			made := now.DeepCopy()
			e.made++
			made.Name = "o" + strconv.Itoa(e.made)
			e.create(path, made)
		case s.Node(slot) != now:
			update(e, path, s.Node(slot).DeepCopy(), "", func(o *v1.Node) {
				o.Labels, o.Spec.Taints, o.Spec.Unschedulable = now.Labels, now.Spec.Taints, now.Spec.Unschedulable
			})
		}
	}
}

// claim makes or edits a claim of a volume.
func (e *editor) claim(s, fork *cluster.Snapshot, of, name string, c diagnose.Change) {
	const path = "/api/v1/namespaces/" + namespace + "/persistentvolumeclaims"
	now, ok := cluster.List[*v1.PersistentVolumeClaim](fork).Get(of, name)
	require.True(e.t, ok, e.story)
	old, had := cluster.List[*v1.PersistentVolumeClaim](s).Get(of, name)
	spec := *now.Spec.DeepCopy()
	if !had || c.Again || strings.Contains(c.To, "make it") {
		spec.VolumeName = "" // the fork has bound it
		e.create(path, &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "again"}, Spec: spec})
		return
	}
	old = &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Spec: *old.Spec.DeepCopy()}
	update(e, path, old, "", func(o *v1.PersistentVolumeClaim) { o.Spec.StorageClassName = spec.StorageClassName })
}

// template is that of a pod, without what a controller or admission writes.
func template(pod *v1.Pod, restart v1.RestartPolicy) v1.PodTemplateSpec {
	out := v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: *pod.Spec.DeepCopy()}
	for key, value := range pod.Labels {
		if key != "a" && !strings.Contains(key, "pod-template-hash") {
			out.Labels[key] = value
		}
	}
	out.Spec.RestartPolicy, out.Spec.NodeName, out.Spec.Priority = restart, "", nil
	return out
}

// owner makes an edit of a workload.
func (e *editor) owner(kind string, pod, changed *v1.Pod, c diagnose.Change) {
	apps, batch := "/apis/apps/v1/namespaces/"+namespace+"/", "/apis/batch/v1/namespaces/"+namespace+"/"
	restart := v1.RestartPolicyAlways
	if kind == "Job" || kind == "CronJob" {
		restart = v1.RestartPolicyNever
	}
	now := template(changed, restart)
	if c.Kind == diagnose.Priority {
		e.made++
		class := "c" + strconv.Itoa(e.made)
		above, err := strconv.Atoi(c.To)
		require.NoError(e.t, err)
		e.server.make(e.t, "/apis/scheduling.k8s.io/v1/priorityclasses", &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Value: int32(above + 1)})
		now.Spec.PriorityClassName = class
	}
	meta := metav1.ObjectMeta{Namespace: namespace, UID: types.UID("")}
	was, three := template(pod, restart), int32(3)
	scaled := func(replicas **int32, template *v1.PodTemplateSpec) {
		if c.Kind == diagnose.Scale {
			n, err := strconv.Atoi(c.To)
			require.NoError(e.t, err)
			*replicas = new(int32(n))
			return
		}
		*template = now
	}
	switch kind {
	case "Deployment":
		update(e, apps+"deployments", &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: &three, Selector: ownSelector(), Template: was}}, "", func(o *appsv1.Deployment) {
			switch {
			case c.Kind == diagnose.Strategy && c.To == "Recreate":
				o.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
			case c.Kind == diagnose.Strategy:
				o.Spec.Strategy.RollingUpdate.MaxSurge.IntVal, o.Spec.Strategy.RollingUpdate.MaxSurge.Type = 0, 0
			default:
				scaled(&o.Spec.Replicas, &o.Spec.Template)
			}
		})
	case "ReplicaSet":
		update(e, apps+"replicasets", &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: &three, Selector: ownSelector(), Template: was}}, "", func(o *appsv1.ReplicaSet) { scaled(&o.Spec.Replicas, &o.Spec.Template) })
	case "StatefulSet":
		update(e, apps+"statefulsets", &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: &three, ServiceName: "s", Selector: ownSelector(), Template: was}}, "", func(o *appsv1.StatefulSet) { scaled(&o.Spec.Replicas, &o.Spec.Template) })
	case "DaemonSet":
		update(e, apps+"daemonsets", &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: ownSelector(), Template: was}}, "", func(o *appsv1.DaemonSet) { o.Spec.Template = now })
	case "Job":
		if c.Again {
			status, err := e.server.try(http.MethodPost, batch+"jobs", &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "again"}, Spec: batchv1.JobSpec{Template: was}})
			require.NoError(e.t, err)
			if status.Message != "" {
				e.unkept++
				return
			}
			e.create(batch+"jobs", &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "again"}, Spec: batchv1.JobSpec{Template: now}})
			return
		}
		require.Equal(e.t, diagnose.Scale, c.Kind, e.story) // the template is immutable
		update(e, batch+"jobs", &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Parallelism: &three, Template: was}}, "", func(o *batchv1.Job) { scaled(&o.Spec.Parallelism, &o.Spec.Template) })
	case "CronJob":
		old := &batchv1.CronJob{ObjectMeta: meta, Spec: batchv1.CronJobSpec{Schedule: "0 0 * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: was}}}}
		update(e, batch+"cronjobs", old, "", func(o *batchv1.CronJob) { o.Spec.JobTemplate.Spec.Template = now })
	}
}
