package dump

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/scheduler/groups"
)

// PodGroups and CompositePodGroups of v1.37 become groups of the cluster. Others of their names are left aside.
func TestGroups(t *testing.T) {
	const node = "{apiVersion: v1, kind: Node, metadata: {name: n1}}"
	group := func(version, spec string) string {
		return "{apiVersion: " + version + ", kind: PodGroup, metadata: {name: g}, spec: {" + spec + "}}"
	}
	const gang = "schedulingPolicy: {gang: {minCount: 3}}"
	testkit.Run(t, []struct {
		name, why, text string
		needs           int // 0: the cluster has no group
		warning         string
	}{
		{"v1beta1", "the version of v1.37", group("scheduling.k8s.io/v1beta1", gang), 3, ""},
		{"v1alpha3", "has the same fields", group("scheduling.k8s.io/v1alpha3", gang), 3, ""},
		{"v1alpha2", "has other fields", group("scheduling.k8s.io/v1alpha2", gang), 0, "1 object(s) of kind PodGroup of scheduling.k8s.io/v1alpha2 left aside: the version is not read; v1beta1 and v1alpha3 are, of Kubernetes v1.37: kubectl get podgroups.v1beta1.scheduling.k8s.io -A -o yaml"},
		{"of others", "a group of another project", group("scheduling.x-k8s.io/v1alpha1", "minMember: 3"), 0, "PodGroup.scheduling.x-k8s.io"},
		{"refused", "no server has such a group", group("scheduling.k8s.io/v1beta1", ""), 0, ""},
	}, func(t *testing.T, c struct {
		name, why, text string
		needs           int
		warning         string
	}) {
		o, err := Read([]string{"-"}, strings.NewReader(node+"\n---\n"+c.text), Options{})
		require.NoError(t, err)
		s, err := cluster.New(o.Cluster())
		require.NoError(t, err)
		if g := s.Group("default", "g"); c.needs == 0 {
			require.Nil(t, g)
		} else {
			require.Equal(t, c.needs, g.Needs())
		}
		var b strings.Builder
		o.Warnings.Print(&b)
		require.Contains(t, b.String(), c.warning)
	})
	o, err := Read([]string{"-"}, strings.NewReader(node+"\n---\n{apiVersion: scheduling.k8s.io/v1alpha3, kind: CompositePodGroup, metadata: {name: job}, spec: {workloadRef: {workloadName: w, templateName: t}, schedulingPolicy: {gang: {minGroupCount: 2}}}}"), Options{})
	require.NoError(t, err)
	s, err := cluster.New(o.Cluster())
	require.NoError(t, err)
	require.Equal(t, 2, s.Composite("default", "job").Needs())
	for kind := range o.All() {
		if kind.Kind == "CompositePodGroup" {
			require.Equal(t, "scheduling.k8s.io/v1alpha3", kind.GroupVersion().String())
		}
	}
}

// Groups of the input turn on the gates that they need, unless a user says otherwise.
func TestFeatureGates(t *testing.T) {
	const (
		head  = "{apiVersion: v1, kind: Node, metadata: {name: n1}}\n---\n"
		plain = head + "{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: g}, spec: {schedulingPolicy: {basic: {}}}}"
		zoned = head + "{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: g}, spec: {schedulingPolicy: {basic: {}}, schedulingConstraints: {topology: [{key: zone}]}, preemptionPolicy: Never}}"
		tree  = head + "{apiVersion: scheduling.k8s.io/v1alpha3, kind: CompositePodGroup, metadata: {name: job}, spec: {workloadRef: {workloadName: w, templateName: t}, schedulingPolicy: {basic: {}}}}"
	)
	type test struct {
		name, why, text, said string
		want                  *podgroup.Gates
		err, note             string
	}
	testkit.Run(t, []test{
		{"no groups", "nothing turns a gate on", head, "", nil, "", ""},
		{"groups", "the cluster serves them", plain, "", &podgroup.Gates{}, "", "the input has 1 group; feature gates that count as on: GenericWorkload; --feature-gates=GenericWorkload=false places pods as if they had no group"},
		{"constraints and a policy", "their gates too", zoned, "", &podgroup.Gates{Topology: true, PreemptionPolicy: true}, "", "TopologyAwareWorkloadScheduling"},
		{"composite", "its gates too", tree, "", &podgroup.Gates{Topology: true, Composites: true}, "", "CompositePodGroup"},
		{"claims", "their gate too", strings.Replace(plain, "basic: {}}", "basic: {}}, resourceClaims: [{name: d, resourceClaimName: c}]", 1), "", &podgroup.Gates{Claims: true}, "", "count as on: DRAWorkloadResourceClaims, GenericWorkload;"},
		{"claims of templates", "a note says that the controller has not made one", strings.Replace(plain, "basic: {}}", "basic: {}}, resourceClaims: [{name: d, resourceClaimTemplateName: c}]", 1), "", &podgroup.Gates{Claims: true}, "", "group default/g waits for a claim of a template; pods that are made here get one each, where the cluster makes one for the group"},
		{"off", "the user decides", zoned, "GenericWorkload=false", nil, "", ""},
		{"off unsaid", "a gate that is not said is off, as in kube-scheduler", tree, "CompositePodGroup=false", nil, "", "the input has 1 group, and --feature-gates leaves GenericWorkload off: pods are placed as if they had no group"},
		{"some", "the user decides", zoned, "GenericWorkload=true,TopologyAwareWorkloadScheduling=false", &podgroup.Gates{}, "", ""},
		{"without groups", "as in the cluster to be", head, "GenericWorkload=true", &podgroup.Gates{}, "", ""},
		{"of something else", "groups count as without the flag", plain, "TaintTolerationComparisonOperators=true", &podgroup.Gates{}, "", "feature gates that count as on: GenericWorkload"},
		{"not followed", "a note says so", head, "SchedulerAsyncAPICalls=true", nil, "", "feature gate SchedulerAsyncAPICalls=true: podberth does not follow it"},
		{"alone", "a gate needs another", head, "CompositePodGroup=true", nil, "CompositePodGroup: Invalid value: true: needs GenericWorkload", ""},
		{"unknown", "no such gate", head, "Groups=true", nil, `unrecognized feature gate: Groups`, ""},
		{"no value", "true or false", head, "GenericWorkload", nil, "missing bool value for GenericWorkload", ""},
	}, func(t *testing.T, c test) {
		o, err := Read([]string{"-"}, strings.NewReader(c.text), Options{})
		require.NoError(t, err)
		var said groups.FeatureGates
		if c.said != "" {
			err = said.Set(c.said)
		}
		var gates *podgroup.Gates
		if err == nil {
			gates, err = o.Groups(said)
		}
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			return
		}
		require.NoError(t, err)
		require.Equal(t, c.want, gates)
		require.Contains(t, strings.Join(o.Warnings.Texts(), "\n"), c.note)
		require.Equal(t, c.note == "", len(o.Warnings.Texts()) == 0)
	})
}
