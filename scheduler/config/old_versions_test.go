package config

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

const beta1 = `apiVersion: kubescheduler.config.k8s.io/v1beta1
kind: KubeSchedulerConfiguration
healthzBindAddress: 0.0.0.0:10251
leaderElection: {leaderElect: true, resourceLock: endpointsleases}
profiles:
- schedulerName: packing
  plugins:
    score:
      disabled: [{name: NodeResourcesLeastAllocated}, {name: NodePreferAvoidPods}]
      enabled: [{name: RequestedToCapacityRatio, weight: 5}, {name: SelectorSpread, weight: 2}, {name: PodTopologySpread}]
    filter:
      enabled: [{name: EBSLimits}, {name: Mine}, {name: ServiceAffinity}]
  pluginConfig:
  - name: RequestedToCapacityRatio
    args: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}], resources: [{name: cpu, weight: 2}]}
  - name: ServiceAffinity
    args: {affinityLabels: [region]}
  - name: NodeAffinity
    args: {apiVersion: kubescheduler.config.k8s.io/v1beta1, kind: NodeAffinityArgs}
`

func emptyCluster(t *testing.T) *cluster.Snapshot {
	t.Helper()
	s, err := cluster.New(cluster.Objects{})
	require.NoError(t, err)
	return s
}

// weighed is a profile with the weights of before v1beta3.
const weighed = `profiles:
- plugins:
    score:
      enabled:
      - name: InterPodAffinity
        weight: 1
      - name: NodeAffinity
        weight: 1
      - name: TaintToleration
        weight: 1
`

// Each document of an old version is listed with the document of v1 that it becomes.
func TestOldVersions(t *testing.T) {
	type test struct {
		name, document, equivalent string
		notes                      []string
	}
	testkit.Run(t, []test{
		{"v1alpha1", `apiVersion: kubescheduler.config.k8s.io/v1alpha1
kind: KubeSchedulerConfiguration
schedulerName: mine
algorithmSource: {provider: ClusterAutoscalerProvider}
hardPodAffinitySymmetricWeight: 5
disablePreemption: true
bindTimeoutSeconds: 30
failureDomains: zone
leaderElection: {lockObjectName: x, lockObjectNamespace: ns}
plugins: {unreserve: {enabled: [{name: VolumeBinding}]}, postFilter: {enabled: [{name: InterPodAffinity}]}}
`, `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  resourceName: x
  resourceNamespace: ns
profiles:
- pluginConfig:
  - args:
      hardPodAffinityWeight: 5
    name: InterPodAffinity
  - args:
      scoringStrategy:
        type: MostAllocated
    name: NodeResourcesFit
  - args:
      bindTimeoutSeconds: 30
    name: VolumeBinding
  plugins:
    postFilter:
      disabled:
      - name: DefaultPreemption
    preScore:
      enabled:
      - name: InterPodAffinity
    reserve:
      enabled:
      - name: VolumeBinding
    score:
      enabled:
      - name: InterPodAffinity
        weight: 1
      - name: NodeAffinity
        weight: 1
      - name: TaintToleration
        weight: 1
  schedulerName: mine
`, []string{"plugins.postFilter: called preScore now", "failureDomains: topologyKey is required in affinity terms", "plugins.unreserve: a part of reserve"}},
		{"v1alpha1 with a policy", `{"apiVersion": "kubescheduler.config.k8s.io/v1alpha1", "kind": "KubeSchedulerConfiguration", "algorithmSource": {"policy": {"file": {"path": "p.json"}}}}`,
			head + weighed, []string{"algorithmSource.policy: load the policy itself to see what it is today"}},
		{"v1alpha1 with another provider", `{"apiVersion": "componentconfig/v1alpha1", "kind": "KubeSchedulerConfiguration", "algorithmSource": {"provider": "Foo"}}`,
			head + weighed, []string{`algorithmSource.provider: there is no provider "Foo"`}},
		{"v1alpha2", `apiVersion: kubescheduler.config.k8s.io/v1alpha2
kind: KubeSchedulerConfiguration
disablePreemption: true
extenders: [{urlPrefix: "http://x", enableHttps: true}]
`, head + `extenders:
- enableHTTPS: true
  urlPrefix: http://x
profiles:
- plugins:
    postFilter:
      disabled:
      - name: DefaultPreemption
    score:
      enabled:
      - name: InterPodAffinity
        weight: 1
      - name: NodeAffinity
        weight: 1
      - name: TaintToleration
        weight: 1
`, nil},
		{"v1beta1", beta1, `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: true
  resourceLock: leases
profiles:
- pluginConfig:
  - args: {}
    name: NodeAffinity
  - args:
      scoringStrategy:
        requestedToCapacityRatio:
          shape:
          - score: 0
            utilization: 0
          - score: 10
            utilization: 100
        resources:
        - name: cpu
          weight: 2
        type: RequestedToCapacityRatio
    name: NodeResourcesFit
  plugins:
    filter:
      enabled:
      - name: NodeVolumeLimits
      - name: Mine
    score:
      enabled:
      - name: NodeResourcesFit
        weight: 5
      - name: PodTopologySpread
        weight: 2
      - name: InterPodAffinity
        weight: 1
      - name: NodeAffinity
        weight: 1
      - name: TaintToleration
        weight: 1
  schedulerName: packing
`, []string{
			"healthzBindAddress: the flags --bind-address and --secure-port say it",
			"leaderElection.resourceLock: only leases are left",
			"plugins.filter.enabled: EBSLimits: NodeVolumeLimits does it; limits come from the node's CSINode; volumes of the in-tree kind count as those of its CSI driver",
			"plugins.filter.enabled: ServiceAffinity: " + goneNote,
			"plugins.score.enabled: RequestedToCapacityRatio: utilization is requested*100/allocatable since v1.33",
			"plugins.score.enabled: SelectorSpread: removed in v1.29; " + spreadNote,
			"pluginConfig: ServiceAffinity is gone",
			`to be corrected: initializing profiles: creating profile for scheduler name packing: FilterPlugin "Mine" does not exist`,
		}},
		{"v1beta2", `apiVersion: kubescheduler.config.k8s.io/v1beta2
kind: KubeSchedulerConfiguration
profiles: [{plugins: {score: {enabled: [{name: NodeResourcesMostAllocated}], disabled: [{name: "*"}]}}, pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: LeastAllocated}}}]}]
`, head + `profiles:
- pluginConfig:
  - args:
      scoringStrategy:
        type: LeastAllocated
    name: NodeResourcesFit
  plugins:
    score:
      disabled:
      - name: '*'
      enabled:
      - name: NodeResourcesFit
`, []string{"MostAllocated: left out, NodeResourcesFit has one strategy and it is LeastAllocated already; another profile can have another"}},
	}, func(t *testing.T, c test) {
		_, err := Load([]byte(c.document))
		var old *OldVersionError
		require.True(t, errors.As(err, &old), "%v", err)
		require.Contains(t, old.Err.Error(), "is registered for version")
		require.Equal(t, c.equivalent, string(old.Equivalent))
		require.Equal(t, c.notes, old.Notes)
	})
	_, err := Load([]byte("apiVersion: v1\nkind: Pod\n"))
	require.EqualError(t, err, `no kind "Pod" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"`)
}
