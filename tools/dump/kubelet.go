package dump

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/podberth/podberth/tools/report"
)

// kubeletGroup and kubeletVersion are the apiVersion of Kubelet, which is that of the answers.
var kubeletGroup, kubeletVersion, _ = strings.Cut(report.APIVersion, "/")

// Kubelet is what the kubelet of a node answers: its measurements and its settings about eviction. The object has the name of the
// node, apiVersion podberth.io/v1alpha1 and kind Kubelet. kubectl podberth snapshot makes such objects.
type Kubelet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	// Summary has the fields of /stats/summary that package pressure reads; nil when the kubelet gave none.
	Summary *stats.Summary `json:"summary,omitempty"`
	// Configuration is nil when the kubelet gave none.
	Configuration *KubeletSettings `json:"configuration,omitempty"`
}

// KubeletSettings are the fields of a KubeletConfiguration that package pressure reads, under the same names.
type KubeletSettings struct {
	EvictionHard                     map[string]string `json:"evictionHard,omitzero"`
	EvictionSoft                     map[string]string `json:"evictionSoft,omitzero"`
	EvictionSoftGracePeriod          map[string]string `json:"evictionSoftGracePeriod,omitzero"`
	EvictionMinimumReclaim           map[string]string `json:"evictionMinimumReclaim,omitzero"`
	EvictionMaxPodGracePeriod        int32             `json:"evictionMaxPodGracePeriod,omitzero"`
	EvictionPressureTransitionPeriod metav1.Duration   `json:"evictionPressureTransitionPeriod,omitzero"`
	EnforceNodeAllocatable           []string          `json:"enforceNodeAllocatable,omitzero"`
	MergeDefaultEvictionSettings     *bool             `json:"mergeDefaultEvictionSettings,omitzero"`
	LocalStorageCapacityIsolation    *bool             `json:"localStorageCapacityIsolation,omitzero"`
	KubeReserved                     map[string]string `json:"kubeReserved,omitzero"`
	SystemReserved                   map[string]string `json:"systemReserved,omitzero"`
}
