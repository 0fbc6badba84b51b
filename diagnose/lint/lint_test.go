package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/testkit/fixes"
)

const (
	zone = v1.LabelTopologyZone
	host = v1.LabelHostname
)

// world is a cluster of five nodes in three zones and a Deployment of three replicas, about which no rule has anything to say.
type world struct {
	in   Input
	web  *appsv1.Deployment
	pod  *v1.PodSpec
	objs *cluster.Objects
}

func newWorld() *world {
	w := &world{objs: &cluster.Objects{}}
	for i, z := range []string{"a", "a", "b", "b", "c"} {
		w.objs.Nodes = append(w.objs.Nodes, testkit.Node("n"+string(rune('1'+i))).Zone(z).Capacity("cpu=4,memory=8Gi").Obj())
	}
	w.web = w.app("web", 3)
	w.pod = &w.web.Spec.Template.Spec
	w.in.Cluster = w.objs
	return w
}

func (w *world) app(name string, replicas int32) *appsv1.Deployment {
	p := testkit.Pod(name).Labels("app=" + name).Request("cpu=500m,memory=1Gi").Obj()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	d.Spec.Replicas, d.Spec.Template.Labels, d.Spec.Template.Spec = &replicas, p.Labels, p.Spec
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	w.in.Deployments = append(w.in.Deployments, d)
	return d
}

func (w *world) replicas(n int32) *world {
	w.web.Spec.Replicas = &n
	return w
}

func (w *world) affinity() *v1.Affinity {
	if w.pod.Affinity == nil {
		w.pod.Affinity = &v1.Affinity{}
	}
	return w.pod.Affinity
}

func (w *world) require(terms ...v1.NodeSelectorTerm) {
	w.affinity().NodeAffinity = &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: terms}}
}

func (w *world) prefer(weight int32, key string, op v1.NodeSelectorOperator, values ...string) {
	if w.affinity().NodeAffinity == nil {
		w.affinity().NodeAffinity = &v1.NodeAffinity{}
	}
	a := w.affinity().NodeAffinity
	a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution, v1.PreferredSchedulingTerm{Weight: weight, Preference: term(key, op, values...)})
}

func term(key string, op v1.NodeSelectorOperator, values ...string) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}
}

func (w *world) with(key, app string) {
	w.affinity().PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{testkit.Term(key, "app="+app)}}
}

func (w *world) apart(key, app string) {
	w.affinity().PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{testkit.Term(key, "app="+app)}}
}

func (w *world) spread(skew int32, key string, when v1.UnsatisfiableConstraintAction, app string) *v1.TopologySpreadConstraint {
	w.pod.TopologySpreadConstraints = append(w.pod.TopologySpreadConstraints, v1.TopologySpreadConstraint{MaxSkew: skew, TopologyKey: key, WhenUnsatisfiable: when, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}})
	return &w.pod.TopologySpreadConstraints[len(w.pod.TopologySpreadConstraints)-1]
}

func (w *world) taint(taint string, nodes ...int) {
	for _, i := range nodes {
		w.objs.Nodes[i].Spec.Taints = testkit.Taints(taint)
	}
}

func (w *world) budget(name, app string, min int32) *policyv1.PodDisruptionBudget {
	n := intstr.FromInt32(min)
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &n, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}}
	w.in.Budgets = append(w.in.Budgets, b)
	return b
}

func (w *world) claim(name string, mode v1.PersistentVolumeAccessMode) {
	w.in.Claims = append(w.in.Claims, &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: v1.PersistentVolumeClaimSpec{AccessModes: []v1.PersistentVolumeAccessMode{mode}}})
}

func (w *world) mount(claim string) {
	w.pod.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
}

func (w *world) class(name string, value int32) {
	w.in.PriorityClasses = append(w.in.PriorityClasses, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value})
}

// twin adds a Deployment whose pods have the labels of web.
func (w *world) twin(replicas int32) {
	d := w.app("other", replicas)
	d.Spec.Template.Labels, d.Spec.Selector = map[string]string{"app": "web"}, w.web.Spec.Selector
}

func (w *world) noSurge() { // one replica may be missing in a rollout
	one, none := intstr.FromInt32(1), intstr.FromInt32(0)
	w.web.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: &none, MaxUnavailable: &one}
}

func ptr[T any](v T) *T { return &v }

// Every rule has a manifest that fires and a near miss that does not.
func TestRules(t *testing.T) {
	spread := v1.DoNotSchedule
	soft := v1.ScheduleAnyway
	in, not, exists, gone := v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn, v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist
	type test struct {
		name      string // of the rule
		fires     func(w *world)
		near      func(w *world)
		severity  Severity
		manifests bool // without a cluster
	}
	cases := []test{
		{"selector-conflict", func(w *world) { w.pod.NodeSelector = map[string]string{zone: "a"}; w.require(term(zone, in, "b")) },
			func(w *world) { w.pod.NodeSelector = map[string]string{zone: "a"}; w.require(term(zone, in, "b", "a")) }, Error, true},
		{"term-conflict", func(w *world) {
			w.require(term(zone, in, "a"), v1.NodeSelectorTerm{MatchExpressions: append(term(zone, exists).MatchExpressions, term(zone, gone).MatchExpressions...)})
		},
			func(w *world) { w.require(term(zone, in, "a"), term(zone, in, "b")) }, Warning, true},
		{"empty-node-term", func(w *world) { w.require(v1.NodeSelectorTerm{}) }, func(w *world) { w.require(v1.NodeSelectorTerm{}, term(zone, in, "a")) }, Error, true},
		{"no-node-matches", func(w *world) { w.pod.NodeSelector = map[string]string{"topology.kubernetes.io/zones": "c"} }, func(w *world) { w.pod.NodeSelector = map[string]string{zone: "c"} }, Error, false},
		{"term-matches-nothing", func(w *world) { w.require(term(zone, in, "a"), term(zone, in, "d")) }, func(w *world) { w.require(term(zone, in, "a"), term(zone, not, "a")) }, Warning, false},
		{"all-nodes-closed", func(w *world) { w.taint("gpu:NoSchedule", 0, 1, 2, 3, 4) }, func(w *world) { w.taint("gpu:NoSchedule", 0, 1, 2, 3) }, Error, false},
		{"toleration-unused", func(w *world) {
			w.taint("gpu:NoSchedule", 0)
			w.pod.Tolerations = []v1.Toleration{{Key: "gpus", Operator: v1.TolerationOpExists}}
		},
			func(w *world) {
				w.taint("gpu:NoSchedule", 0)
				w.pod.Tolerations = []v1.Toleration{{Key: "gpu", Operator: v1.TolerationOpExists}}
			}, Info, false},
		{"toleration-of-everything", func(w *world) { w.pod.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}} },
			func(w *world) {
				w.pod.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}}
			}, Warning, true},
		{"node-name-set", func(w *world) { w.pod.NodeName = "n1" }, func(w *world) {
			w.require(v1.NodeSelectorTerm{MatchFields: term("metadata.name", in, "n1").MatchExpressions})
		}, Warning, true},
		{"node-pinned", func(w *world) { w.pod.NodeSelector = map[string]string{host: "n1"} }, func(w *world) { w.replicas(1).pod.NodeSelector = map[string]string{host: "n1"} }, Warning, true},
		{"preferred-node-none", func(w *world) { w.prefer(10, "disk", in, "ssd") }, func(w *world) { w.prefer(10, zone, in, "a") }, Warning, false},
		{"preferred-node-all", func(w *world) { w.prefer(10, zone, exists) }, func(w *world) { w.prefer(10, zone, not, "c") }, Info, false},

		{"affinity-nobody", func(w *world) { w.with(zone, "db") }, func(w *world) { w.with(zone, "db"); w.app("db", 1) }, Error, false},
		{"affinity-unknown", func(w *world) { w.with(zone, "db") }, func(w *world) { w.with(zone, "web") }, Warning, true},
		{"affinity-contradiction", func(w *world) { w.with(zone, "web"); w.apart(zone, "web") }, func(w *world) { w.with(zone, "web"); w.apart(host, "web") }, Error, true},
		{"affinity-key-missing", func(w *world) { w.with("topology.kubernetes.io/zones", "web") }, func(w *world) { w.with(zone, "web") }, Error, false},
		{"anti-affinity-key-missing", func(w *world) { w.apart("rack", "db") }, func(w *world) { w.apart(zone, "db") }, Warning, false},
		{"anti-affinity-domains", func(w *world) { w.replicas(4).apart(zone, "web"); w.noSurge() }, func(w *world) { w.apart(zone, "web"); w.noSurge() }, Error, false},
		{"anti-affinity-rollout", func(w *world) { w.apart(zone, "web") }, func(w *world) { w.replicas(2).apart(zone, "web") }, Warning, false},
		{"affinity-one-domain", func(w *world) { w.replicas(9).with(host, "web") }, func(w *world) { w.replicas(8).with(host, "web") }, Error, false},
		{"affinity-namespaces", func(w *world) {
			w.namespaces("default")
			w.with(zone, "web")
			w.pod.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].Namespaces = []string{"prod"}
		},
			func(w *world) {
				w.namespaces("default", "prod")
				w.with(zone, "web")
				w.pod.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].Namespaces = []string{"prod"}
			}, Warning, false},
		{"affinity-selects-nobody", func(w *world) {
			w.apart(zone, "web")
			w.pod.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector = nil
		},
			func(w *world) {
				w.apart(zone, "web")
				w.pod.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector = &metav1.LabelSelector{}
			}, Warning, true},
		{"anti-affinity-others", func(w *world) { w.replicas(5).apart(host, "web"); w.twin(5) }, func(w *world) { w.apart(host, "web"); w.twin(1) }, Info, false},

		{"spread-self-mismatch", func(w *world) { w.spread(1, zone, spread, "wep") }, func(w *world) { w.spread(1, zone, spread, "web") }, Warning, true},
		{"spread-no-selector", func(w *world) { w.spread(1, zone, spread, "web").LabelSelector = nil }, func(w *world) { w.spread(1, zone, spread, "web") }, Warning, true},
		{"spread-key-missing", func(w *world) { w.spread(1, "rack", spread, "web") }, func(w *world) { w.spread(1, zone, spread, "web") }, Error, false},
		{"spread-key-missing-soft", func(w *world) { w.spread(1, "rack", soft, "web") }, func(w *world) { w.spread(1, zone, soft, "web") }, Warning, false},
		{"min-domains", func(w *world) { w.replicas(4).spread(1, zone, spread, "web").MinDomains = ptr(int32(4)) }, func(w *world) { w.replicas(4).spread(1, zone, spread, "web").MinDomains = ptr(int32(3)) }, Error, false},
		{"min-domains-later", func(w *world) { w.spread(1, zone, spread, "web").MinDomains = ptr(int32(4)) }, func(w *world) { w.spread(1, zone, spread, "web").MinDomains = ptr(int32(3)) }, Warning, false},
		{"spread-taints-policy", func(w *world) { w.taint("gpu:NoSchedule", 4); w.spread(1, zone, spread, "web") },
			func(w *world) {
				w.taint("gpu:NoSchedule", 4)
				w.spread(1, zone, spread, "web").NodeTaintsPolicy = ptr(v1.NodeInclusionPolicyHonor)
			}, Error, false},
		{"spread-affinity-policy", func(w *world) {
			w.pod.NodeSelector = map[string]string{zone: "a"}
			w.spread(1, zone, spread, "web").NodeAffinityPolicy = ptr(v1.NodeInclusionPolicyIgnore)
		},
			func(w *world) { w.pod.NodeSelector = map[string]string{zone: "a"}; w.spread(1, zone, spread, "web") }, Error, false},
		{"spread-cordoned", func(w *world) { w.objs.Nodes[4].Spec.Unschedulable = true; w.spread(1, zone, spread, "web") },
			func(w *world) { w.objs.Nodes[3].Spec.Unschedulable = true; w.spread(1, zone, spread, "web") }, Error, false},
		{"spread-conflict", sixth, func(w *world) { sixth(w); w.pod.TopologySpreadConstraints[1].WhenUnsatisfiable = soft }, Error, false},
		{"spread-without-effect", func(w *world) { w.spread(3, zone, spread, "web") }, func(w *world) { w.spread(2, zone, spread, "web") }, Info, true},
		{"spread-one-replica", func(w *world) { w.replicas(1).spread(1, "rack", spread, "web") }, func(w *world) { w.replicas(1).spread(1, zone, spread, "web") }, Info, false},
		{"spread-counts-others", func(w *world) {
			w.spread(1, zone, spread, "web")
			w.app("other", 1).Spec.Template.Labels["app"] = "web"
		},
			func(w *world) { w.spread(1, zone, spread, "web"); w.app("other", 1) }, Warning, true},
		{"match-label-keys", func(w *world) { w.spread(1, zone, spread, "web").MatchLabelKeys = []string{"version"} }, func(w *world) { w.spread(1, zone, spread, "web").MatchLabelKeys = []string{"pod-template-hash"} }, Warning, true},

		{"request-too-large", func(w *world) { w.request("cpu", "5") }, func(w *world) { w.request("cpu", "4") }, Error, false},
		{"resource-unoffered", func(w *world) { w.request("example.com/gpu", "1") }, func(w *world) { w.request("example.com/gpu", "1"); w.offer("example.com/gpu", "4") }, Error, false},
		{"requests-do-not-add-up", func(w *world) { w.replicas(6).request("cpu", "4") }, func(w *world) { w.replicas(5).request("cpu", "4") }, Error, false},
		{"no-requests", func(w *world) { delete(w.pod.Containers[0].Resources.Requests, "memory") }, func(w *world) {}, Info, true},
		{"host-port-replicas", func(w *world) { w.replicas(6).port(80) }, func(w *world) { w.replicas(4).port(80) }, Error, false},
		{"host-port-rollout", func(w *world) { w.replicas(3).port(80); w.taint("gpu:NoSchedule", 3, 4) }, func(w *world) { w.replicas(3).port(80); w.taint("gpu:NoSchedule", 4) }, Warning, false},
		{"claim-missing", func(w *world) { w.replicas(1).mount("data") }, func(w *world) { w.replicas(1).mount("data"); w.claim("data", v1.ReadWriteOnce) }, Error, false},
		{"claim-one-pod", func(w *world) { w.mount("data"); w.claim("data", v1.ReadWriteOncePod) }, func(w *world) { w.mount("data"); w.claim("data", v1.ReadWriteMany) }, Error, false},
		{"claim-one-node", func(w *world) { w.mount("data"); w.claim("data", v1.ReadWriteOnce) }, func(w *world) { w.mount("data"); w.claim("data", v1.ReadWriteMany) }, Warning, true},

		{"gates", func(w *world) { w.pod.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/wait"}} }, func(w *world) { w.pod.SchedulingGates = []v1.PodSchedulingGate{} }, Info, true},
		{"priority-class-missing", func(w *world) { w.class("high", 10); w.pod.PriorityClassName = "hig" }, func(w *world) { w.class("high", 10); w.pod.PriorityClassName = "high" }, Error, true},
		{"priority-below-all", func(w *world) { w.class("low", -10); w.pod.PriorityClassName = "low"; w.app("db", 1) }, func(w *world) {
			w.class("low", -10)
			w.pod.PriorityClassName = "low"
			w.app("db", 1).Spec.Template.Spec.PriorityClassName = "low"
		}, Info, true},
		{"scheduler-name", func(w *world) { w.pod.SchedulerName = "batch" }, func(w *world) { w.pod.SchedulerName = "default-scheduler" }, Info, true},
		{"selector-mismatch", func(w *world) { w.web.Spec.Selector.MatchLabels["app"] = "wep" }, func(w *world) { w.web.Spec.Template.Labels["tier"] = "front" }, Error, true},

		{"budget-never-allows", func(w *world) { w.budget("b", "web", 3) }, func(w *world) { w.budget("b", "web", 2) }, Warning, true},
		{"budget-matches-nobody", func(w *world) { w.budget("b", "wep", 1) }, func(w *world) { w.budget("b", "web", 1) }, Warning, true},
		{"budget-overlap", func(w *world) { w.budget("b", "web", 1); w.budget("c", "web", 2) }, func(w *world) { w.budget("b", "web", 1); w.app("db", 3); w.budget("c", "db", 2) }, Warning, true},
		{"budget-whole-namespace", func(w *world) { w.budget("b", "web", 1).Spec.Selector = &metav1.LabelSelector{} }, func(w *world) { w.budget("b", "web", 1) }, Info, true},
		{"budget-unhealthy", func(w *world) {
			w.budget("b", "web", 1).Spec.UnhealthyPodEvictionPolicy = ptr(policyv1.IfHealthyBudget)
		}, func(w *world) { w.budget("b", "web", 1).Spec.UnhealthyPodEvictionPolicy = ptr(policyv1.AlwaysAllow) }, Info, true},

		{"preference-drowned", func(w *world) { w.taint("old:PreferNoSchedule", 0, 1); w.prefer(100, zone, in, "a") }, func(w *world) { w.taint("old:PreferNoSchedule", 0); w.prefer(100, zone, in, "a") }, Warning, false},
		{"weight-lost", func(w *world) { w.prefer(1, zone, in, "a"); w.prefer(100, zone, in, "b") }, func(w *world) { w.prefer(2, zone, in, "a"); w.prefer(100, zone, in, "b") }, Warning, true},
		{"duplicate-term", func(w *world) { w.prefer(10, zone, in, "a"); w.prefer(20, zone, in, "a") }, func(w *world) { w.prefer(10, zone, in, "a"); w.prefer(20, zone, in, "b") }, Info, true},
		{"prefers-and-forbids", func(w *world) { w.apart(host, "web"); w.wish(host, "web") }, func(w *world) { w.apart(host, "web"); w.wish(zone, "web") }, Warning, true},
		{"preference-key-missing", func(w *world) { w.wish("rack", "web") }, func(w *world) { w.wish(zone, "web") }, Warning, false},
		{"loop-soft-spread", func(w *world) {
			w.spread(1, zone, soft, "web")
			w.app("db", 3).Spec.Template.Spec.TopologySpreadConstraints = w.pod.TopologySpreadConstraints
		},
			func(w *world) { w.spread(1, zone, soft, "web"); w.app("db", 3) }, Info, true},
		{"loop-preferred-node", func(w *world) { w.replicas(9).prefer(10, zone, in, "c") }, func(w *world) { w.replicas(8).prefer(10, zone, in, "c") }, Info, false},
		{"loop-duplicates", func(w *world) { w.replicas(6) }, func(w *world) { w.replicas(5) }, Info, false},
	}
	for _, c := range newCases() {
		cases = append(cases, test(c))
	}
	byID := map[string]Rule{}
	for _, r := range Rules() {
		require.Empty(t, byID[r.ID].ID, "two rules %s", r.ID)
		byID[r.ID] = r
	}
	require.GreaterOrEqual(t, len(byID), 40)
	seen, made := map[string]bool{}, map[string]int{}
	var texts strings.Builder
	testkit.Run(t, cases, func(t *testing.T, c test) {
		rule, ok := byID[c.name]
		require.True(t, ok, "no such rule")
		require.LessOrEqual(t, rank[rule.Severity], rank[c.severity], "worse than the rule says")
		require.Equal(t, c.manifests, !rule.Cluster)
		seen[c.name] = true
		w := newWorld()
		w.in.Descheduler = rule.Descheduler
		c.fires(w)
		if w.in.Cluster = nil; !c.manifests {
			require.Empty(t, of(t, w, c.name), "fires without a cluster")
			w.in.Cluster = w.objs
		}
		found := of(t, w, c.name)
		require.NotEmpty(t, found, "does not fire")
		write(&texts, c.name, found)
		require.Equal(t, c.severity, found[0].Severity, found[0].Explanation)
		require.NotEmpty(t, found[0].Path+found[0].Fix)
		fixes.Law(t, func() *Input {
			w := newWorld()
			w.in.Descheduler = rule.Descheduler
			c.fires(w)
			if c.manifests {
				w.in.Cluster = nil
			}
			return &w.in
		}, said(t), true, made)
		w = newWorld()
		w.in.Descheduler = rule.Descheduler
		c.near(w)
		require.Empty(t, of(t, w, c.name), "the near miss fires")
	})
	var ids []string
	for _, r := range Rules() {
		ids = append(ids, r.ID)
		require.True(t, slices.ContainsFunc(cases, func(c test) bool { return c.name == r.ID }), "no example of %s", r.ID)
	}
	if len(seen) < len(ids) {
		return // some cases run by themselves
	}
	testkit.Golden(t, "testdata/rules.txt", testkit.HideHashes(texts.String()))
	outside := map[string]string{ // rules whose fix names no change of a manifest
		"gates":           "another controller removes a gate: the fix says to check that it is there",
		"scheduler-name":  "another scheduler decides: the fix says to check that it is there",
		"loop-duplicates": "the configuration of the descheduler changes, which is no manifest",
		"unplaceable":     "the fix names the command that lists changes, each of which it has tried",
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(outside)), strings.Fields(fixes.Rules(ids, made)))
}

// write writes findings as text.
func write(to *strings.Builder, name string, all []Finding) {
	for _, f := range all {
		fmt.Fprintf(to, "%s: %s %s at %s\n    %s: %s\n    Fix: %s\n", name, f.Severity, f.Object, f.Path, f.Rule, f.Explanation, f.Fix)
	}
}

func (w *world) namespaces(names ...string) {
	for _, n := range names {
		w.objs.Namespaces = append(w.objs.Namespaces, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n}})
	}
}

func (w *world) request(name v1.ResourceName, value string) {
	r := &w.pod.Containers[0].Resources
	r.Requests[name] = resource.MustParse(value)
	if strings.Contains(string(name), "/") { // the API server wants a limit
		r.Limits = v1.ResourceList{name: resource.MustParse(value)}
	}
}

func (w *world) offer(name v1.ResourceName, value string) {
	for _, n := range w.objs.Nodes {
		n.Status.Allocatable[name] = resource.MustParse(value)
	}
}

func (w *world) port(n int32) {
	w.pod.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: n, HostPort: n, Protocol: v1.ProtocolTCP}}
}

func (w *world) wish(key, app string) {
	w.affinity().PodAffinity = &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 10, PodAffinityTerm: testkit.Term(key, "app="+app)}}}
}

// sixth is the documentation's two constraints on a cluster on which the sixth replica has no node: zone a has two nodes, zone b
// one.
func sixth(w *world) {
	w.objs.Nodes = w.objs.Nodes[:3]
	w.replicas(6)
	w.spread(1, zone, v1.DoNotSchedule, "web")
	w.spread(1, host, v1.DoNotSchedule, "web")
}

func of(t *testing.T, w *world, rule string) (out []Finding) {
	t.Helper()
	for _, f := range checked(t, w.in) {
		if f.Rule == rule {
			out = append(out, f)
		}
	}
	return out
}

// checked returns the findings about an input, which stays as it is.
func checked(t *testing.T, in Input) []Finding {
	t.Helper()
	objects := func() string {
		var lists []any
		for v, k := reflect.ValueOf(in), 0; k < v.NumField(); k++ {
			if kind := v.Field(k).Kind(); kind == reflect.Slice || kind == reflect.Pointer {
				lists = append(lists, v.Field(k).Interface())
			}
		}
		text, err := json.Marshal(lists)
		require.NoError(t, err)
		return string(text)
	}
	before := objects()
	all, err := Check(in)
	require.NoError(t, err)
	require.Equal(t, before, objects(), "Check has written into its input")
	return all
}

// A quota is asked about each workload by itself: what one would use is free for the next.
func TestQuotaOfEach(t *testing.T) {
	w := newWorld()
	w.app("other", 3)
	q := &v1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "q"}}
	q.Spec.Hard = v1.ResourceList{"requests.cpu": resource.MustParse("1500m")}
	w.in.Quotas = []*v1.ResourceQuota{q}
	require.NotContains(t, fmt.Sprint(checked(t, w.in)), "exceeded quota")
	w.replicas(4)
	require.Contains(t, fmt.Sprint(checked(t, w.in)), "exceeded quota")
}

// Nothing is said about a plain Deployment.
func TestNoFindings(t *testing.T) {
	all, err := Check(newWorld().in)
	require.NoError(t, err)
	require.Empty(t, all)
	all, err = Check(Input{})
	require.NoError(t, err)
	require.Empty(t, all)
}

// A rule of severity error says so only when the engine finds no node for a replica.
func TestProved(t *testing.T) {
	w := newWorld()
	w.with(zone, "db")
	w.objs.Pods = append(w.objs.Pods, testkit.Pod("db-0").On("n1").Labels("app=db").Obj())
	require.Empty(t, of(t, w, "affinity-nobody"))
	w = newWorld()
	w.replicas(4).apart(zone, "web")
	delete(w.objs.Nodes[0].Labels, zone)
	require.Empty(t, of(t, w, "anti-affinity-domains"), "a node without the key takes any number")
}

// A DaemonSet makes no pod for a node that it does not select: that none is selected is a warning. A pod without room is an error.
func TestDaemonSet(t *testing.T) {
	w := newWorld()
	w.pod.NodeSelector = map[string]string{zone: "d"}
	w.in.DaemonSets = []*appsv1.DaemonSet{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent"}, Spec: appsv1.DaemonSetSpec{Template: w.web.Spec.Template}}}
	w.in.Deployments = nil
	require.Equal(t, Warning, of(t, w, "no-node-matches")[0].Severity)
	w.in.DaemonSets[0].Spec.Template.Spec.NodeSelector = nil
	w.in.DaemonSets[0].Spec.Template.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("5")
	require.Equal(t, Error, of(t, w, "request-too-large")[0].Severity)
}

// Near names are part of the explanation.
func TestNear(t *testing.T) {
	w := newWorld()
	w.spread(1, "topology.kubernetes.io/zones", v1.DoNotSchedule, "web")
	require.Contains(t, of(t, w, "spread-key-missing")[0].Explanation, "near: topology.kubernetes.io/zone")
	w = newWorld()
	w.pod.NodeSelector = map[string]string{"zone": "a"}
	require.Contains(t, of(t, w, "no-node-matches")[0].Explanation, "near: topology.kubernetes.io/zone")
}

// Nil manifests, and a cluster with two nodes of one name, are errors.
func TestBadInput(t *testing.T) {
	type test struct {
		name string
		in   Input
		want string
	}
	testkit.Run(t, []test{
		{"pod", Input{Pods: []*v1.Pod{nil}}, "pods[0]: Required value"},
		{"deployment", Input{Deployments: []*appsv1.Deployment{nil}}, "deployments[0]: Required value"},
		{"replica set", Input{ReplicaSets: []*appsv1.ReplicaSet{{}, nil}}, "lint: replicaSets[1]: Required value: must not be nil"},
		{"stateful set", Input{StatefulSets: []*appsv1.StatefulSet{{}, nil}}, "lint: statefulSets[1]: Required value: must not be nil"},
		{"daemon set", Input{DaemonSets: []*appsv1.DaemonSet{{}, nil}}, "lint: daemonSets[1]: Required value: must not be nil"},
		{"job", Input{Jobs: []*batchv1.Job{{}, nil}}, "lint: jobs[1]: Required value: must not be nil"},
		{"replication controller", Input{ReplicationControllers: []*v1.ReplicationController{{}, nil}}, "lint: replicationControllers[1]: Required value: must not be nil"},
		{"budget", Input{Budgets: []*policyv1.PodDisruptionBudget{nil}}, "budgets[0]: Required value"},
		{"cluster", Input{Cluster: &cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Obj(), testkit.Node("n1").Obj()}}}, "Duplicate value"},
	}, func(t *testing.T, c test) {
		_, err := Check(c.in)
		require.ErrorContains(t, err, c.want)
	})
}
