package upgrade

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/podberth/podberth/release"
)

// What differs between two verdicts is named field by field.
func TestChanges(t *testing.T) {
	a := verdict{Outcome: "Scheduled", Node: "n1"}
	for want, b := range map[string]verdict{
		"": a, "verdict": {Outcome: "Gated", Node: "n1"}, "node": {Outcome: "Scheduled", Node: "n2"}, "message": {Outcome: "Scheduled", Node: "n1", Message: "x"}, "verdict node message": {Outcome: "Error", NominatedNode: "n1", Message: "x"},
	} {
		require.Equal(t, want, strings.Join(a.changes(b), " "))
	}
	require.Equal(t, []string{"node"}, a.changes(verdict{Outcome: "Scheduled", Node: "n1", NominatedNode: "n3"}))
	for _, c := range []struct {
		volume v1.VolumeSource
		want   bool
	}{
		{v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{}}, true}, {v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}, true}, {v1.VolumeSource{PortworxVolume: &v1.PortworxVolumeSource{}}, true}, {v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}, false},
	} {
		require.Equal(t, c.want, mountsStorage(&v1.Pod{Spec: v1.PodSpec{Volumes: []v1.Volume{{VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}, {VolumeSource: c.volume}}}}))
	}
	for _, one := range []upgradeReport{{Pods: make([]podChange, 1)}, {Running: make([]readmission, 1)}, {Fields: make([]fieldChange, 1)}, {Pods: make([]podChange, 1), Running: make([]readmission, 1)}} {
		require.True(t, one.changed())
	}
	require.False(t, (&upgradeReport{}).changed())
}

// Each version refuses what it does not know.
func TestRefusedFields(t *testing.T) {
	fields := func(text string, v release.Version) (out []string) {
		var c configuration
		require.NoError(t, yaml.Unmarshal([]byte(text), &c))
		for _, f := range refused(c, v) {
			out = append(out, strings.TrimPrefix(f.Field, "profiles[0].")+": "+f.Why)
		}
		return out
	}
	args := func(name, args string) string {
		return "profiles: [{pluginConfig: [{name: " + name + ", args: {" + args + "}}]}]"
	}
	const ratio = "pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio: "
	for _, c := range []struct {
		text string
		v    release.Version
		want []string
	}{
		{args("DynamicResources", "bindingTimeout: 1s"), release.V1_34, []string{"pluginConfig[0].args.bindingTimeout: unknown field"}},
		{args("DynamicResources", "bindingTimeout: 1s"), release.V1_35, []string{"pluginConfig[0].args.bindingTimeout: DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled"}},
		{args("DynamicResources", "bindingTimeout: 1s"), release.V1_36, nil}, {args("DynamicResources", "filterTimeout: 1s"), release.V1_34, nil}, {args("DynamicResources", "filterTimeout: 1s"), release.V1_35, nil},
		{args("NodeResourcesFit", "scoringStrategy: {type: RequestedToCapacityRatio}"), release.V1_36, []string{ratio + "must be specified when type is RequestedToCapacityRatio"}},
		{args("NodeResourcesFit", "scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {}}"), release.V1_36, nil},
		{args("NodeResourcesFit", "scoringStrategy: {type: LeastAllocated, requestedToCapacityRatio: {}}"), release.V1_36, []string{ratio + "must be nil when type is not RequestedToCapacityRatio"}},
		{args("NodeResourcesFit", "scoringStrategy: {type: LeastAllocated, requestedToCapacityRatio: {}}"), release.V1_35, nil}, {args("NodeResourcesFit", "scoringStrategy: {type: LeastAllocated}"), release.V1_36, nil}, {args("NodeResourcesFit", ""), release.V1_36, nil},
		{args("VolumeBinding", "shape: []"), release.V1_36, []string{"pluginConfig[0].args.shape: unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"}}, {args("VolumeBinding", "shape: []"), release.V1_37, nil}, {args("VolumeBinding", ""), release.V1_36, nil},
		{"profiles: [{plugins: {placementGenerate: {}}}]", release.V1_35, []string{"plugins.placementGenerate: unknown field"}}, {"profiles: [{plugins: {placementGenerate: {}, podGroupPostFilter: {}}}]", release.V1_36, []string{"plugins.podGroupPostFilter: unknown field"}},
	} {
		require.Equal(t, c.want, fields(c.text, c.v), "%s in %v", c.text, c.v)
	}
}

// The table of fields names each with its rule.
func TestTableOfFields(t *testing.T) {
	_, out, errs := run(shipped("1.35", "1.36", "-config", "testdata/scheduler.yaml")...)
	require.Empty(t, errs)
	require.Regexp(t, `(?m)^FIELD +REFUSED BY v?1\.36 +RULE$`, out)
	require.Regexp(t, `(?m)^profiles\[0\]\.pluginConfig\[0\]\S+requestedToCapacityRatio +.* L11\.1$`, out)
}
