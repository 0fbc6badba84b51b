package pressure

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelet "k8s.io/kubelet/config/v1beta1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/report"
	"github.com/podberth/podberth/tools/shell"
)

// Kubelet makes the object of a snapshot from what the kubelet of a node answers: summary is that of /stats/summary, configuration
// that of /configz. Either may be empty. The object has what this program reads and nothing else.
func Kubelet(node string, summary, configuration []byte) (*dump.Kubelet, error) {
	k := &dump.Kubelet{TypeMeta: metav1.TypeMeta{APIVersion: report.APIVersion, Kind: "Kubelet"}, ObjectMeta: metav1.ObjectMeta{Name: node}}
	if len(summary) > 0 {
		var s struct {
			Node *stats.NodeStats
			Pods []stats.PodStats
		}
		if err := json.Unmarshal(summary, &s); err != nil {
			return nil, fmt.Errorf("stats/summary: %w", err)
		}
		if s.Node == nil {
			return nil, errors.New("stats/summary: node: Required value: the kubelet gives no stats of the node")
		}
		s.Node.NodeName = node
		k.Summary = &stats.Summary{Node: leanNode(s.Node)}
		for i := range s.Pods {
			k.Summary.Pods = append(k.Summary.Pods, leanPod(&s.Pods[i]))
		}
	}
	if len(configuration) > 0 {
		var c struct {
			Kubelet *dump.KubeletSettings `json:"kubeletconfig"`
		}
		if err := json.Unmarshal(configuration, &c); err != nil {
			return nil, fmt.Errorf("configz: %w", err)
		}
		if c.Kubelet == nil {
			return nil, errors.New("configz: kubeletconfig: Required value: the kubelet gives no configuration")
		}
		k.Configuration = c.Kubelet
	}
	return k, nil
}

// ofKubelet is what messages call an object of a snapshot.
func ofKubelet(k *dump.Kubelet) string { return "Kubelet " + k.Name }

// kubeletOf returns what the kubelet of a node has answered, nil when the input has nothing of it.
func kubeletOf(objects *dump.Objects, node string) *dump.Kubelet {
	for _, k := range objects.Kubelets {
		if k.Name == node {
			return k
		}
	}
	return nil
}

// measured returns the summary of -summary, else that of the input, and settles the node.
func (in *input) measured(o options, stdin io.Reader, objects *dump.Objects) (*stats.Summary, error) {
	if o.summary != "" {
		summary, err := loadSummary(o, stdin)
		if err != nil {
			return nil, err
		}
		in.from = o.summary
		switch name := summary.Node.NodeName; {
		case name != "" && o.node != "" && name != o.node:
			return nil, fmt.Errorf("-node: Invalid value: %q: must be %q, the node of %s", o.node, name, o.summary)
		case name != "":
			in.node = name
		case o.node != "":
			in.node = o.node
		case len(objects.Nodes) == 1: // a summary without a name is that of the only node of the input
			in.node = objects.Nodes[0].Name
		default:
			return nil, fmt.Errorf("%s: node.nodeName: Required value: the input has not exactly one Node that it could be", o.summary)
		}
		return summary, nil
	}
	var found []*dump.Kubelet
	for _, k := range objects.Kubelets {
		if k.Summary != nil && (o.node == "" || k.Name == o.node) {
			found = append(found, k)
		}
	}
	switch {
	case len(found) > 1:
		return nil, fmt.Errorf("-node: Required value: the input has the stats of %d nodes, the first is %s", len(found), found[0].Name)
	case len(found) == 0 && o.node != "":
		get := "kubectl get --raw " + shell.Words("/api/v1/nodes/"+url.PathEscape(o.node)+"/proxy/stats/summary")
		return nil, fmt.Errorf("-summary: Required value: the input has no stats of node %s; %s prints them", o.node, get)
	case len(found) == 0:
		return nil, errors.New("-summary: Required value: the input has no stats of nodes; kubectl get --raw /api/v1/nodes/NODE/proxy/stats/summary prints them")
	}
	in.node, in.from = found[0].Name, ofKubelet(found[0])
	return found[0].Summary, nil
}

// configurationOf returns settings as a KubeletConfiguration.
func configurationOf(s *dump.KubeletSettings) kubelet.KubeletConfiguration {
	return kubelet.KubeletConfiguration{
		EvictionHard: s.EvictionHard, EvictionSoft: s.EvictionSoft, EvictionSoftGracePeriod: s.EvictionSoftGracePeriod,
		EvictionMinimumReclaim: s.EvictionMinimumReclaim, EvictionMaxPodGracePeriod: s.EvictionMaxPodGracePeriod,
		EvictionPressureTransitionPeriod: s.EvictionPressureTransitionPeriod, EnforceNodeAllocatable: s.EnforceNodeAllocatable,
		MergeDefaultEvictionSettings: s.MergeDefaultEvictionSettings, LocalStorageCapacityIsolation: s.LocalStorageCapacityIsolation,
		KubeReserved: s.KubeReserved, SystemReserved: s.SystemReserved,
	}
}
