package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/diagnose/lint"
)

// provoke makes a workload about which a rule of severity error speaks on most clusters.
var provoke = map[string]func(d *appsv1.Deployment, o []*v1.Node){
	"selector-conflict": func(d *appsv1.Deployment, _ []*v1.Node) {
		spec(d).NodeSelector = map[string]string{v1.LabelTopologyZone: "a"}
		require(d, requirement(v1.LabelTopologyZone, v1.NodeSelectorOpDoesNotExist))
	},
	"empty-node-term": func(d *appsv1.Deployment, _ []*v1.Node) { require(d) },
	"no-node-matches": func(d *appsv1.Deployment, _ []*v1.Node) { spec(d).NodeSelector = map[string]string{"no/such": "label"} },
	"all-nodes-closed": func(d *appsv1.Deployment, nodes []*v1.Node) {
		spec(d).Tolerations = nil
		for _, n := range nodes {
			n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: "closed", Effect: v1.TaintEffectNoSchedule})
		}
	},
	"affinity-nobody": func(d *appsv1.Deployment, _ []*v1.Node) {
		with(d, v1.LabelHostname, map[string]string{"nobody": "has"})
	},
	"affinity-contradiction": func(d *appsv1.Deployment, _ []*v1.Node) {
		with(d, v1.LabelHostname, d.Spec.Template.Labels)
		apart(d, v1.LabelHostname)
	},
	"affinity-key-missing":  func(d *appsv1.Deployment, _ []*v1.Node) { with(d, "no/such-key", d.Spec.Template.Labels) },
	"anti-affinity-domains": func(d *appsv1.Deployment, _ []*v1.Node) { apart(d, v1.LabelHostname) },
	"affinity-one-domain": func(d *appsv1.Deployment, nodes []*v1.Node) {
		for _, n := range nodes {
			n.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("2")
		}
		*d.Spec.Replicas += 2
		ask(d, v1.ResourceCPU, "1")
		with(d, v1.LabelHostname, d.Spec.Template.Labels)
	},
	"spread-key-missing": func(d *appsv1.Deployment, _ []*v1.Node) { spread(d, "no/such-key") },
	"min-domains": func(d *appsv1.Deployment, _ []*v1.Node) {
		n := int32(50)
		spread(d, v1.LabelHostname).MinDomains = &n
	},
	"spread-taints-policy": func(d *appsv1.Deployment, nodes []*v1.Node) {
		spec(d).Tolerations = nil
		nodes[0].Spec.Taints = append(nodes[0].Spec.Taints, v1.Taint{Key: "closed", Effect: v1.TaintEffectNoSchedule})
		spread(d, v1.LabelHostname)
	},
	"spread-affinity-policy": func(d *appsv1.Deployment, nodes []*v1.Node) {
		ignore := v1.NodeInclusionPolicyIgnore
		require(d, requirement(v1.LabelHostname, v1.NodeSelectorOpNotIn, nodes[0].Labels[v1.LabelHostname]))
		spread(d, v1.LabelHostname).NodeAffinityPolicy = &ignore
	},
	"spread-cordoned": func(d *appsv1.Deployment, nodes []*v1.Node) {
		spec(d).Tolerations = nil
		nodes[0].Spec.Unschedulable = true
		spread(d, v1.LabelHostname)
	},
	"spread-conflict": func(d *appsv1.Deployment, _ []*v1.Node) {
		spread(d, v1.LabelTopologyZone)
		spread(d, v1.LabelHostname)
	},
	"request-too-large":  func(d *appsv1.Deployment, _ []*v1.Node) { ask(d, v1.ResourceCPU, "1000") },
	"resource-unoffered": func(d *appsv1.Deployment, _ []*v1.Node) { ask(d, "no.such/resource", "1") },
	"requests-do-not-add-up": func(d *appsv1.Deployment, nodes []*v1.Node) {
		for _, n := range nodes {
			n.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("2")
		}
		ask(d, v1.ResourceCPU, "2")
	},
	"host-port-replicas": func(d *appsv1.Deployment, _ []*v1.Node) {
		spec(d).Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 7777, HostPort: 7777, Protocol: v1.ProtocolTCP}}
	},
	"claim-missing": func(d *appsv1.Deployment, _ []*v1.Node) { mount(d, "no-such-claim") },
	"claim-one-pod": func(d *appsv1.Deployment, _ []*v1.Node) { mount(d, "alone") },
}

func spec(d *appsv1.Deployment) *v1.PodSpec { return &d.Spec.Template.Spec }

func requirement(key string, op v1.NodeSelectorOperator, values ...string) v1.NodeSelectorRequirement {
	return v1.NodeSelectorRequirement{Key: key, Operator: op, Values: values}
}

func affinity(d *appsv1.Deployment) *v1.Affinity {
	if spec(d).Affinity == nil {
		spec(d).Affinity = &v1.Affinity{}
	}
	return spec(d).Affinity
}

func require(d *appsv1.Deployment, list ...v1.NodeSelectorRequirement) {
	affinity(d).NodeAffinity = &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: list}}}}
}

func term(key string, labels map[string]string) []v1.PodAffinityTerm {
	return []v1.PodAffinityTerm{{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: labels}}}
}

func with(d *appsv1.Deployment, key string, labels map[string]string) {
	affinity(d).PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term(key, labels)}
}

func apart(d *appsv1.Deployment, key string) {
	affinity(d).PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term(key, d.Spec.Template.Labels)}
}

func spread(d *appsv1.Deployment, key string) *v1.TopologySpreadConstraint {
	s := spec(d)
	s.TopologySpreadConstraints = append(s.TopologySpreadConstraints, v1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: d.Spec.Template.Labels}})
	return &s.TopologySpreadConstraints[len(s.TopologySpreadConstraints)-1]
}

func ask(d *appsv1.Deployment, name v1.ResourceName, value string) {
	spec(d).Containers[0].Resources.Requests[name] = resource.MustParse(value)
	if name != v1.ResourceCPU {
		spec(d).Containers[0].Resources.Limits = v1.ResourceList{name: resource.MustParse(value)}
	}
}

func mount(d *appsv1.Deployment, claim string) {
	spec(d).Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
}

// Each rule of severity error on generated clusters, 8 of each in the short mode and -clusters/5 of each in the long one: with a
// finding of severity error kube-scheduler leaves a replica without a node.
func TestLintErrors(t *testing.T) {
	k := kube(t)
	want, proved := gen.Count(8, 20), map[string]int{}
	for _, rule := range slices.Sorted(maps.Keys(provoke)) {
		for seed := *gen.Seed; proved[rule] < want && seed < *gen.Seed+int64(want)*20; seed++ {
			c := gen.Of(seed, gen.Shape{Nodes: 6, Running: 8, Roomy: true})
			for _, n := range c.Nodes {
				if n.Labels == nil {
					n.Labels = map[string]string{}
				}
				n.Labels[v1.LabelHostname] = n.Name
			}
			replicas := int32(len(c.Nodes) + 1 + int(seed%3))
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "linted"}}
			d.Spec.Replicas = &replicas
			d.Spec.Template.Labels = map[string]string{"app": "linted"}
			spec(d).Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
			spec(d).Containers = []v1.Container{{Name: "main", Image: "linted:1", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1m"), v1.ResourceMemory: resource.MustParse("1Mi")}}}}
			class := ""
			c.Claims = append(c.Claims, &v1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "alone", UID: "alone", Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}},
				Spec:       v1.PersistentVolumeClaimSpec{AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}, VolumeName: "alone", StorageClassName: &class},
			})
			c.PersistentVolumes = append(c.PersistentVolumes, &v1.PersistentVolume{
				ObjectMeta: metav1.ObjectMeta{Name: "alone"},
				Spec:       v1.PersistentVolumeSpec{AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}, ClaimRef: &v1.ObjectReference{Namespace: "default", Name: "alone", UID: "alone"}},
			})
			provoke[rule](d, c.Nodes)
			found, err := lint.Check(lint.Input{Deployments: []*appsv1.Deployment{d}, Cluster: &c.Objects})
			must(t, err)
			seen := map[string]bool{}
			for _, f := range found {
				if f.Severity == lint.Error && !seen[f.Rule] {
					seen[f.Rule] = true
				}
			}
			if len(seen) == 0 {
				continue
			}
			if got := replicasPlaced(t, k, c, d); got >= int(*d.Spec.Replicas) {
				t.Fatalf("seed %d: provoking %s: kube-scheduler places all %d replicas; the linter says %v", seed, rule, got, slices.Sorted(maps.Keys(seen)))
			}
			for r := range seen {
				proved[r]++
			}
		}
	}
	t.Logf("proved: %v", proved)
	for _, r := range lint.Rules() {
		if r.Severity == lint.Error && proved[r.ID] < want && notAsked[r.ID] == "" {
			t.Errorf("rule %s was proved %d times, not %d", r.ID, proved[r.ID], want)
		}
	}
}

// notAsked are the rules that kube-scheduler is not asked about here, with the reason.
var notAsked = map[string]string{
	"group-min-count":      "groups count behind a feature gate that is off here; package podgroup asks about them",
	"group-priority":       "groups count behind a feature gate that is off here; package podgroup asks about them",
	"group-priority-class": refused,
	"group-min-groups":     "groups count behind a feature gate that is off here; package podgroup asks about them",
	"group-schedulers":     "groups count behind a feature gate that is off here; package podgroup asks about them",
	"group-topology-key":   "groups count behind a feature gate that is off here; package podgroup asks about them",
	"api-refuses":          refused, "priority-class-missing": refused, "runtime-class-missing": refused, "selector-mismatch": refused,
	"refused-limit-range": refused, "refused-quota-needs": refused, "refused-quota": refused,
	"priority-default-second": classes,
	"rollout-rwop":            later, "rollout-rwo": later, "rollout-spread": later, "immutable-field": refused, "rollout-host-port-ds": later, "budget-cannot-sync": later,
	"gpu-pool-closed": placed, "class-missing": placed, "device-class-missing": placed, "node-name-claim": placed, "unplaceable": placed,
}

const (
	refused = "the API server refuses the pods before kube-scheduler sees them"
	classes = "the rule is about a class, not about a pod"
	later   = "the rule is about a rollout or a sync, not about a placement"
	placed  = "TestAgreement of tools/lint compares the rule with place, which is compared with kube-scheduler"
)

// replicasPlaced returns how many replicas kube-scheduler places, one after the other.
func replicasPlaced(t *testing.T, k *real.Scheduler, c *gen.Cluster, d *appsv1.Deployment) int {
	t.Helper()
	must(t, k.Load(compare.Copy(&gen.Cluster{Objects: c.Objects})))
	for i := range int(*d.Spec.Replicas) {
		p := &v1.Pod{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy(), Spec: *spec(d).DeepCopy()}
		p.Namespace, p.Name = "default", fmt.Sprintf("linted-%d", i)
		p.UID = types.UID(p.Name)
		p, err := gen.Admit(p)
		if err != nil { // the API server refuses what the rule speaks of
			return 0
		}
		must(t, k.Know(p))
		a, err := k.Attempt(p)
		must(t, err)
		if a.Err != nil {
			return i
		}
		must(t, a.Reserve(a.Result.SuggestedHost))
	}
	return int(*d.Spec.Replicas)
}
