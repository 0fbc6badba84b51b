package lint

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/testkit/fixes"
)

func said(t testing.TB) func(in *Input) []fixes.Said {
	return func(in *Input) (out []fixes.Said) {
		all, err := Check(*in)
		require.NoError(t, err)
		for _, f := range all {
			out = append(out, fixes.Said{Rule: f.Rule, Severity: string(f.Severity), Finding: fixes.Finding{Object: f.Object, Path: f.Path, Explanation: f.Explanation, Fix: f.Fix}})
		}
		return out
	}
}

var (
	fixed      = flag.Uint64("fixes", 20, "random manifests of TestFixesOfRandomManifests")
	firstFixed = flag.Uint64("first-fixes", 0, "the first of them")
)

// A fix that is made ends its finding, and no new error comes.
func TestFixesOfRandomManifests(t *testing.T) {
	made := map[string]int{}
	for seed := *firstFixed; seed < *firstFixed+*fixed; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			fixes.Law(t, func() *Input { return &random(testkit.NewBytes(testkit.RandomBytes(seed+9e6, 60))).in }, said(t), false, made)
			fixes.Law(t, func() *Input {
				in := (&generator{rand.New(rand.NewPCG(seed, 59))}).input()
				return &in
			}, said(t), false, made)
		})
	}
	require.Greater(t, len(made), 30, "%v", made)
}

// Fields beside those of a finding do not make its fix one that the API server refuses, or that another rule calls an error.
func TestFixesBesideOtherFields(t *testing.T) {
	none, one := intstr.FromInt32(0), intstr.FromInt32(1)
	strict := func(w *world) {
		w.web.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: &one, MaxUnavailable: &none}
	}
	type test struct {
		name, rule string
		fires      func(w *world)
	}
	testkit.Run(t, []test{
		{"maxUnavailable 0 with a claim of one pod", "rollout-rwop", func(w *world) {
			w.replicas(1).claim("data", v1.ReadWriteOncePod)
			w.mount("data")
			strict(w)
		}},
		{"maxUnavailable 0 with a claim of one node", "rollout-rwo", func(w *world) { w.replicas(1).claim("data", v1.ReadWriteOnce); w.mount("data"); strict(w) }},
		{"maxUnavailable 0 of a DaemonSet", "rollout-host-port-ds", func(w *world) {
			w.port(80)
			w.daemon(1)
			w.in.DaemonSets[0].Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = &none
		}},
		{"maxUnavailable 0 with anti-affinity", "anti-affinity-rollout", func(w *world) { w.apart(zone, "web"); strict(w) }},
		{"maxUnavailable 0 with host ports", "host-port-rollout", func(w *world) { w.replicas(5).port(80); strict(w) }},
		{"a cordoned zone that a constraint counts against node affinity", "spread-cordoned", func(w *world) {
			w.objs.Nodes[4].Spec.Unschedulable = true
			w.spread(1, zone, v1.DoNotSchedule, "web").NodeAffinityPolicy = ptr(v1.NodeInclusionPolicyIgnore)
		}},
		{"replicas that share nodes", "request-too-large", func(w *world) { w.replicas(6).request("cpu", "5") }},
		{"replicas on nodes that others use", "request-too-large", func(w *world) {
			w.replicas(9).request("memory", "9Gi")
			w.pod.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceMemory: resource.MustParse("9Gi")}
		}},
		{"the overhead of a class", "request-too-large", func(w *world) {
			w.in.RuntimeClasses = []*nodev1.RuntimeClass{{ObjectMeta: metav1.ObjectMeta{Name: "kata"}, Handler: "kata", Overhead: &nodev1.Overhead{PodFixed: v1.ResourceList{"cpu": resource.MustParse("3")}}}}
			w.replicas(9).request("cpu", "1500m")
			w.pod.RuntimeClassName = ptr("kata")
		}},
		{"a DaemonSet on nodes of several sizes", "request-too-large", func(w *world) {
			w.request("cpu", "5")
			w.objs.Nodes[0].Status.Allocatable[v1.ResourceCPU] = resource.MustParse("1500m")
			w.daemon(1)
		}},
		{"an effect without seconds", "tolerates-broken-node", func(w *world) {
			w.tolerate(v1.Toleration{Key: v1.TaintNodeUnreachable, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute})
		}},
		{"minDomains beyond the domains after Honor", "spread-taints-policy", func(w *world) {
			w.taint("gpu:NoSchedule", 4)
			w.spread(1, zone, v1.DoNotSchedule, "web").MinDomains = ptr(int32(3))
		}},
		{"no domain at all", "spread-key-missing", func(w *world) { w.spread(1, "rack", v1.DoNotSchedule, "web").MinDomains = ptr(int32(3)) }},
		{"zones that are fewer than the replicas", "anti-affinity-key-missing", func(w *world) { w.replicas(4).apart("rack", "web") }},
		{"a name that is nearly that of a key", "spread-key-missing-soft", func(w *world) { w.replicas(4).spread(1, "topology.kubernetes.io/zones", v1.ScheduleAnyway, "web") }},
		{"a budget over a DaemonSet too", "budget-never-allows", func(w *world) {
			d := w.in.Deployments
			w.daemon(0)
			w.in.Deployments = d
			w.budget("b", "web", 3)
		}},
		{"a budget that allows nothing, over a Job too", "budget-zero", func(w *world) {
			d := w.in.Deployments
			w.job(1)
			w.in.Jobs[0].Name = "run"
			w.in.Deployments = d
			b := w.budget("b", "web", 0)
			b.Spec.MinAvailable, b.Spec.MaxUnavailable = nil, &none
		}},
		{"a budget over the only replica and a DaemonSet", "budget-one-replica", func(w *world) {
			d := w.in.Deployments
			w.daemon(0)
			w.in.Deployments = d
			w.replicas(1).budget("b", "web", 1)
		}},
		{"a budget over a pod without a controller", "budget-one-replica", func(w *world) {
			w.in.Pods = []*v1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one", Labels: w.web.Spec.Template.Labels}, Spec: w.web.Spec.Template.Spec}}
			w.in.Deployments = nil
			w.budget("b", "web", 1)
		}},
		{"labels of the template with which replicas wait", "spread-self-mismatch", func(w *world) {
			w.taint("gpu:NoSchedule", 4)
			w.replicas(5).spread(1, zone, v1.DoNotSchedule, "other")
		}},
		{"host ports by hostNetwork", "host-port-replicas", func(w *world) {
			w.replicas(6).port(80)
			w.pod.HostNetwork = true
		}},
		{"a selector that the cluster has otherwise", "immutable-field", func(w *world) { w.live("other") }},
	}, func(t *testing.T, c test) {
		made := map[string]int{}
		fixes.Law(t, func() *Input {
			w := newWorld()
			c.fires(w)
			return &w.in
		}, said(t), true, made)
		require.NotZero(t, made[c.rule], "no fix of the rule is made")
	})
}

// No label is named that was not tried: when there is too much to try, the fix is another.
func TestLabelsThatAreTooManyToTry(t *testing.T) {
	w := newWorld()
	w.spread(1, "topology.kubernetes.io/zones", v1.DoNotSchedule, "web")
	for effort, want := range map[int]string{0: "use topology.kubernetes.io/zone as topologyKey", mostEffort: "drop the constraint"} {
		all, err := check(&checker{in: w.in, effort: effort})
		require.NoError(t, err)
		i := slices.IndexFunc(all, func(f Finding) bool { return f.Rule == "spread-key-missing" })
		require.GreaterOrEqual(t, i, 0)
		require.Equal(t, want, all[i].Fix)
	}
}
