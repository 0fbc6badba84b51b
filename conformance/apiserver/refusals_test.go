package apiserver_test

import (
	"errors"
	"fmt"
	"math/rand"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/overhead/runtimeclass"
)

// request is one object that the test sends, and podberth's answer about it.
type request struct {
	method, path string
	object       any
	errs         field.ErrorList // of the checks
	refusal      error           // of admission plugins
	story        string
}

// TestRefusedPods creates pods of which one to three fields were changed.
func TestRefusedPods(t *testing.T) {
	compare(t, start(t), 150, 60, drawPod)
}

// TestRefusedUpdates updates stored pods, gated and free, in one to three fields.
func TestRefusedUpdates(t *testing.T) {
	s := start(t)
	stored := storePods(t, s)
	compare(t, s, 100, 20, func(source *trial.Source) request { return drawUpdate(source, stored) })
}

// TestRefusedObjects creates nodes, classes and budgets of which one to three fields were changed, and updates classes.
func TestRefusedObjects(t *testing.T) {
	s := start(t)
	s.make(t, classes, highClass())
	s.make(t, runtimes, kataClass())
	s.make(t, storage, fastClass())
	high, kata, fast := &schedulingv1.PriorityClass{}, &nodev1.RuntimeClass{}, &storagev1.StorageClass{}
	require.NoError(t, s.get(classes+"/high", high))
	require.NoError(t, s.get(runtimes+"/kata", kata))
	require.NoError(t, s.get(storage+"/fast", fast))
	compare(t, s, 100, 20, func(source *trial.Source) request { return drawObject(source, high, kata, fast) })
}

// compare tries n objects (in the long mode the share of -clusters) and compares the set of errors, their order by field, and
// for an object with one error the whole text.
func compare(t *testing.T, s server, n, share int, draw func(*trial.Source) request) {
	n = gen.Count(n, share)
	begin, refused, errs, differ := time.Now(), 0, 0, 0
	for i := range n {
		seed := *gen.Seed + int64(i)
		data := make([]byte, 200)
		rand.New(rand.NewSource(seed)).Read(data)
		r := draw(trial.NewSource(data))
		status, err := s.try(r.method, r.path, r.object)
		require.NoError(t, err)
		if status.Message != "" {
			refused++
			errs += max(1, len(causes(status)))
		}
		if text := difference(status, r); text != "" {
			if differ++; differ <= 10 {
				t.Errorf("seed %d: %s%s", seed, r.story, text)
			}
		}
	}
	t.Logf("%d objects from seed %d on, %d refused with %d errors, %d differ, %v", n, *gen.Seed, refused, errs, differ, time.Since(begin).Round(time.Second))
	if differ > 0 || refused < n/4 || refused > n*19/20 {
		t.Errorf("%d of %d objects were refused, %d differ", refused, n, differ)
	}
}

// causes returns the server's errors, as field.Error prints them.
func causes(status metav1.Status) (out []string) {
	if status.Details != nil {
		for _, c := range status.Details.Causes {
			out = append(out, cut(c.Field+": "+c.Message))
		}
	}
	return out
}

// cut leaves out the list of differences between internal structures that ends one of the server's texts.
func cut(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return text
}

// difference returns how the server's answer differs from podberth's; "" for equal answers.
func difference(status metav1.Status, r request) string {
	if r.refusal != nil || status.Reason == metav1.StatusReasonForbidden {
		want := ""
		if r.refusal != nil {
			want = r.refusal.Error()
		}
		if status.Message != want {
			return fmt.Sprintf("\n  server:   %s\n  podberth: %s", status.Message, want)
		}
		return ""
	}
	var ours []string
	for _, e := range r.errs {
		ours = append(ours, e.Error())
	}
	theirs := causes(status)
	out := ""
	for _, e := range missing(theirs, ours) {
		out += "\n  server only:   " + e
	}
	for _, e := range missing(ours, theirs) {
		out += "\n  podberth only: " + e
	}
	if a, b := order(theirs), order(ours); out == "" && !slices.Equal(a, b) {
		out = fmt.Sprintf("\n  order of the server: %v\n  of podberth:         %v", a, b)
	}
	if out == "" && len(r.errs) == 1 {
		if want := admission.Refusal(r.object.(metav1.Object), r.errs).Error(); cut(status.Message) != want {
			out = fmt.Sprintf("\n  server:   %s\n  podberth: %s", status.Message, want)
		}
	}
	return out
}

func missing(list, from []string) (out []string) {
	for _, x := range list {
		if !slices.Contains(from, x) {
			out = append(out, x)
		}
	}
	return out
}

// order returns the fields of errors in their order. Below a map, and below resources, the server has no order of its own.
func order(list []string) (out []string) {
	for _, e := range list {
		name, _, _ := strings.Cut(e, ": ")
		if i := strings.Index(name, "resources"); i >= 0 {
			name = name[:i]
		} else if i := strings.Index(name, ".limits["); i >= 0 {
			name = name[:i]
		} else if i := strings.LastIndex(name, "["); i >= 0 {
			name = name[:i]
		}
		if len(out) == 0 || out[len(out)-1] != name {
			out = append(out, name)
		}
	}
	return out
}

// drawPod draws a pod that the server accepts and changes one to three fields.
func drawPod(s *trial.Source) request {
	p, story := draftPod(s), ""
	for range 1 + s.N(3) {
		story += mutate(s, p, podRoots...) + "; "
	}
	r := request{method: http.MethodPost, path: pods, object: p, story: story}
	if r.refusal = byPriority(p); r.refusal != nil {
		return r
	}
	if r.errs = admission.Validate(p, admission.Options{}); len(r.errs) == 0 {
		_, r.refusal = runtimeclass.Admit(overhead.Default(p), nil)
	}
	return r
}

// byPriority returns the error of the admission plugin Priority.
func byPriority(p *v1.Pod) error {
	_, err := admission.AdmitPriority(p, admission.SystemPriorityClasses())
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return errors.New(status.Status().Message)
	}
	return err
}

// draftPod draws a pod of a generated cluster in the form that a user writes.
func draftPod(s *trial.Source) *v1.Pod {
	c := gen.New(int64(s.N(4096)))
	all := slices.Concat(c.Pending, c.Pods, c.Gated)
	if len(all) == 0 {
		all = gen.Of(1, gen.Shape{Pending: 1, Exactly: true}).Pending
	}
	p := all[s.N(len(all))].DeepCopy()
	p.ObjectMeta = metav1.ObjectMeta{Name: "p", Namespace: namespace, Labels: p.Labels}
	p.Status = v1.PodStatus{}
	p.Spec.Priority, p.Spec.PreemptionPolicy, p.Spec.RuntimeClassName, p.Spec.Overhead = nil, nil, nil, nil
	unmerge(p)
	return p
}

// unmerge removes from the selectors what the API server added for the keys of matchLabelKeys and mismatchLabelKeys.
func unmerge(p *v1.Pod) {
	take := func(s *metav1.LabelSelector, keys ...string) {
		if s != nil {
			s.MatchExpressions = slices.DeleteFunc(s.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool { return slices.Contains(keys, r.Key) })
		}
	}
	for i := range p.Spec.TopologySpreadConstraints {
		take(p.Spec.TopologySpreadConstraints[i].LabelSelector, p.Spec.TopologySpreadConstraints[i].MatchLabelKeys...)
	}
	terms := func(required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm) {
		for i := range required {
			take(required[i].LabelSelector, append(required[i].MatchLabelKeys, required[i].MismatchLabelKeys...)...)
		}
		for i := range preferred {
			term := &preferred[i].PodAffinityTerm
			take(term.LabelSelector, append(term.MatchLabelKeys, term.MismatchLabelKeys...)...)
		}
	}
	if a := p.Spec.Affinity; a != nil && a.PodAffinity != nil {
		terms(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a := p.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		terms(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

// storePods creates pods at the server and returns the stored pods.
func storePods(t *testing.T, s server) (out []*v1.Pod) {
	t.Helper()
	for i := range 40 {
		data := make([]byte, 40)
		rand.New(rand.NewSource(int64(i))).Read(data)
		p := draftPod(trial.NewSource(data))
		p.Name = fmt.Sprintf("stored%d", i)
		if i%3 == 0 {
			p.Spec.NodeName = ""
			p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "one"}, {Name: "two"}}
		}
		s.make(t, pods, p)
		stored := &v1.Pod{}
		require.NoError(t, s.get(pods+"/"+p.Name, stored))
		out = append(out, stored)
	}
	return out
}

func drawUpdate(s *trial.Source, stored []*v1.Pod) request {
	old, story := stored[s.N(len(stored))], ""
	p := old.DeepCopy()
	for range 1 + s.N(3) {
		story += mutate(s, p, updateRoots...) + "; "
	}
	errs := admission.ValidateUpdate(admission.WithDefaultSeconds(p, admission.DefaultSeconds{}), old, admission.Options{})
	return request{method: http.MethodPut, path: pods + "/" + p.Name, object: p, errs: errs, story: story}
}

const (
	pods     = "/api/v1/namespaces/" + namespace + "/pods"
	nodes    = "/api/v1/nodes"
	classes  = "/apis/scheduling.k8s.io/v1/priorityclasses"
	runtimes = "/apis/node.k8s.io/v1/runtimeclasses"
	storage  = "/apis/storage.k8s.io/v1/storageclasses"
	budgets  = "/apis/policy/v1/namespaces/" + namespace + "/poddisruptionbudgets"
)

func highClass() *schedulingv1.PriorityClass {
	return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 10}
}

func kataClass() *nodev1.RuntimeClass {
	return &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "kata"}, Handler: "kata",
		Overhead: &nodev1.Overhead{PodFixed: v1.ResourceList{"cpu": resource.MustParse("250m")}},
		Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{"a": "b"},
			Tolerations: []v1.Toleration{{Key: "a", Operator: v1.TolerationOpExists}}}}
}

func fastClass() *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "example.com/a", Parameters: map[string]string{"disk": "ssd"}}
}

func drawObject(s *trial.Source, high *schedulingv1.PriorityClass, kata *nodev1.RuntimeClass, fast *storagev1.StorageClass) request {
	var r request
	change := func(object any, roots ...string) {
		for range 1 + s.N(3) {
			r.story += mutate(s, object, roots...) + "; "
		}
		r.object = object
	}
	post := func(path string, object metav1.Object) {
		r.method, r.path, r.errs = http.MethodPost, path, admission.Validate(object, admission.Options{})
	}
	switch s.N(7) {
	case 0:
		c := gen.New(int64(s.N(4096)))
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "new"}}
		if len(c.Nodes) > 0 {
			from := c.Nodes[s.N(len(c.Nodes))]
			n.Labels, n.Spec.Taints = from.Labels, from.Spec.Taints
		}
		change(n, "metadata.labels", "spec.taints")
		post(nodes, n)
	case 1:
		c := highClass()
		c.Name = "new"
		change(c, "metadata.name", "value", "preemptionPolicy")
		post(classes, c)
	case 2:
		old := high
		c := old.DeepCopy()
		change(c, "value", "preemptionPolicy", "description")
		r.method, r.path, r.errs = http.MethodPut, classes+"/high", admission.ValidateUpdate(c, old, admission.Options{})
	case 3:
		c := kataClass()
		c.Name = "new"
		change(c, "overhead.podFixed", "scheduling.nodeSelector", "scheduling.tolerations")
		post(runtimes, c)
	case 4:
		old := kata
		c := old.DeepCopy()
		change(c, "overhead.podFixed", "scheduling.nodeSelector", "scheduling.tolerations")
		if s.Once(3) {
			c.Handler = "other"
			r.story += "another handler"
		}
		r.method, r.path, r.errs = http.MethodPut, runtimes+"/kata", admission.ValidateUpdate(c, old, admission.Options{})
	case 5:
		c := fast.DeepCopy()
		pick := func(name string, change func()) {
			if s.Once(3) {
				change()
				r.story += name + "; "
			}
		}
		pick("provisioner", func() { c.Provisioner = "example.com/b" })
		pick("parameters", func() { c.Parameters = map[string]string{"disk": "hdd"} })
		pick("reclaimPolicy", func() { c.ReclaimPolicy = new(v1.PersistentVolumeReclaimRetain) })
		pick("no reclaimPolicy", func() { c.ReclaimPolicy = nil })
		pick("volumeBindingMode", func() { c.VolumeBindingMode = new(storagev1.VolumeBindingWaitForFirstConsumer) })
		pick("no volumeBindingMode", func() { c.VolumeBindingMode = nil })
		r.object = c
		r.method, r.path, r.errs = http.MethodPut, storage+"/fast", admission.ValidateUpdate(c, fast, admission.Options{})
	default:
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "new", Namespace: namespace}}
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}, MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "c", Operator: metav1.LabelSelectorOpExists}}}
		change(b, "spec.minAvailable", "spec.maxUnavailable", "spec.selector", "spec.unhealthyPodEvictionPolicy")
		post(budgets, b)
	}
	return r
}
