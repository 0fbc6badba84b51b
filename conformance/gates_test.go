//go:build !k1_36

package conformance

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"

	_ "k8s.io/kubernetes/pkg/features" // registers the gates

	"github.com/podberth/podberth/release"
)

// stageAt returns the state of a gate in a plain control plane of a version, as release.Gate writes it, and its stage.
func stageAt(specs featuregate.VersionedSpecs, minor uint) (state, stage string) {
	state, stage = "absent", "absent"
	now, compatible := version.MajorMinor(1, minor), version.MajorMinor(1, minor-1)
	for _, s := range specs {
		if s.Version.GreaterThan(now) || s.MinCompatibilityVersion != nil && s.MinCompatibilityVersion.GreaterThan(compatible) {
			continue
		}
		state, stage = map[bool]string{true: "on", false: "off"}[s.Default], string(s.PreRelease)
	}
	return state, stage
}

// The defaults in release.Gates are those of Kubernetes. Every gate whose default or stage changed from v1.36 to v1.37 is in that list, or in
// the list elsewhere because podberth decides nothing by it.
func TestGates(t *testing.T) {
	all := utilfeature.DefaultMutableFeatureGate.GetAllVersioned()
	listed := map[string]bool{}
	for _, g := range release.Gates() {
		listed[g.Name] = true
		specs, ok := all[featuregate.Feature(g.Name)]
		require.True(t, ok, "%s is no gate", g.Name)
		v1_36, _ := stageAt(specs, 36)
		v1_37, _ := stageAt(specs, 37)
		require.Equal(t, [2]string{v1_36, v1_37}, [2]string{g.In(release.V1_36), g.In(release.V1_37)}, g.Name)
	}
	changed := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		was, wasStage := stageAt(all[name], 36)
		is, isStage := stageAt(all[name], 37)
		if was == is && wasStage == isStage {
			continue
		}
		changed[string(name)] = true
		if !listed[string(name)] && elsewhere[string(name)] == "" {
			t.Errorf("%s: %s %s -> %s %s is in neither list", name, was, wasStage, is, isStage)
		}
	}
	for name := range elsewhere {
		require.True(t, changed[name] && !listed[name], "%s did not change, or is in release.Gates", name)
	}
}

// elsewhere are gates that touch nothing which podberth decides, with what they touch.
var elsewhere = map[string]string{
	"NativeHistograms":                           "the form of metrics",
	"APIServerWebhookAuthenticationToken":        "the API server",
	"AllowUnsafeMalformedObjectDeletion":         "the API server",
	"AtomicWriteVolumeUserFields":                "files and certificates in volumes",
	"ClusterTrustBundle":                         "files and certificates in volumes",
	"ClusterTrustBundleProjection":               "files and certificates in volumes",
	"ConcurrentWatchObjectDecode":                "the API server",
	"ConsistentListFromCacheSkipTimeoutFallback": "the API server",
	"EmptyDirVolumeMode":                         "files and certificates in volumes",
	"EtcdRangeStream":                            "the API server",
	"ExcludeAdmissionWebhookVirtualResources":    "the API server",
	"GRPCContainerProbeTLS":                      "probes and the network",
	"H2CContainerProbe":                          "probes and the network",
	"HPAConfigurableTolerance":                   "how an autoscaler counts",
	"HPAGeneration":                              "how an autoscaler counts",
	"HPAOptimizedSelectorStore":                  "how an autoscaler counts",
	"HostnameOverride":                           "probes and the network",
	"KubeProxyIPVS":                              "probes and the network",
	"KubeProxyNFTablesLocalhostNodePorts":        "probes and the network",
	"KubeletAllocatedPodsEndpoint":               "the kubelet's own work",
	"KubeletInUserNamespace":                     "the kubelet's own work",
	"ManifestBasedAdmissionControlConfig":        "the API server",
	"NFTablesNetlink":                            "probes and the network",
	"PLEGOnDemandRelist":                         "the kubelet's own work",
	"PersistentVolumeClaimUnusedSinceTime":       "a condition of claims that nothing reads",
	"PodAndContainerStatsFromCRI":                "the kubelet's own work",
	"PodCertificateRequest":                      "files and certificates in volumes",
	"PodsAPI":                                    "the kubelet's own work",
	"RelaxedServiceNameValidation":               "probes and the network",
	"StaleControllerConsistencyHPA":              "how an autoscaler counts",
	"StorageVersionMigrator":                     "the API server",
	"VolumeBindMountOptions":                     "files and certificates in volumes",
	"WatchCacheInitializationPostStartHook":      "the API server",
	"WatchListCompression":                       "the API server",
	"WebhookRoundTripLoadBalancing":              "the API server",
}
